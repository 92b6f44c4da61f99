"""How many users a change of weights moves to another data centre, and when.

Called for forecasts. Consistent hashing moves users only from places that lose weight to places
that gain it, so the part that moves is what the losers lose; Maglev's tables come within two
points of that (Eisenbud et al. 2016, section 3.4, call it minimal disruption).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.services import StickyMode


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSessions:
    """Parts of a service's users, 0..1.

    Attributes:
        on_the_way: move while the change is made, each once.
        at_deadline: move at the end of a drain, if their sessions last so long.
    """

    on_the_way: float
    at_deadline: float


def moved_sessions(
    before: Mapping[str, float], after: Mapping[str, float], mode: StickyMode, drain_s: float = 0.0
) -> MovedSessions:
    """Users that a change moves.

    Args:
        before, after: data centre -> share or weight, >= 0; one that is left out has 0. Only
            their proportions count; without any weight nobody moves.
        drain_s: how long sessions may stay; 0 is not at all.
    """
    old, new = _shares(before), _shares(after)
    part = math.fsum(max(0.0, share - new.get(name, 0.0)) for name, share in old.items())
    if not new:
        part = 0.0
    if mode is StickyMode.SESSION and drain_s > 0:
        return MovedSessions(on_the_way=0.0, at_deadline=part)
    return MovedSessions(on_the_way=part, at_deadline=0.0)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else {}
