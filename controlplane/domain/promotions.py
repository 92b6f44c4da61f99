"""Promotions: which model of a service has which alias, and the log of how it came to that.

The log is append-only; aliases are what it comes to. `engine.learning.models` writes it, the
registry keeps it, the API shows it. A model is registered as `challenger`, proves itself as
`shadow` beside the one that decides, and becomes `champion`. One whose examination failed stays out
of the shadow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile


class Alias(StrEnum):
    """A model's place in its service."""

    CHAMPION = "champion"
    CHALLENGER = "challenger"
    SHADOW = "shadow"


class PromotionEvent(StrEnum):
    """What happened to a model."""

    # Registered, and into the shadow.
    ENROLLED = "enrolled"
    # Not into the shadow, or out of it: it stays a challenger.
    REFUSED = "refused"
    PROMOTED = "promoted"
    ROLLED_BACK = "rolled-back"
    # It lost its skill: still champion, but `observed_laws` decides until it is promoted again.
    DEMOTED = "demoted"


class Promoting(StrEnum):
    """Who promotes a shadow that has proved itself."""

    AUTOMATIC = "automatic"
    BY_HAND = "by-hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """One entry of the log.

    Attributes:
        model: digest of the model that it happened to.
        before: digest of the champion before; "" without one.
        author: a person's token, or `signalbox`.
        reason: in words, with figures where it was judged.
    """

    time_s: float
    service: str
    event: PromotionEvent
    model: str
    before: str = ""
    author: str = ""
    reason: str = ""


IN_SERVICE = frozenset({PromotionEvent.PROMOTED, PromotionEvent.ROLLED_BACK})


def aliases_after(aliases: Mapping[Alias, str], step: Promotion) -> dict[Alias, str]:
    """Alias -> digest of one service after a step; an alias that is missing points nowhere."""
    if step.event in IN_SERVICE:
        others = {alias: model for alias, model in aliases.items() if model != step.model}
        return {**others, Alias.CHAMPION: step.model}
    if step.event is PromotionEvent.ENROLLED and aliases.get(Alias.CHAMPION) != step.model:
        return {**aliases, Alias.CHALLENGER: step.model, Alias.SHADOW: step.model}
    if step.event is PromotionEvent.REFUSED:
        shadow = (Alias.SHADOW, step.model)
        others = dict(item for item in aliases.items() if item != shadow)
        if aliases.get(Alias.CHAMPION) == step.model:
            return others
        return {**others, Alias.CHALLENGER: step.model}
    return dict(aliases)


def earlier_champion(log: Iterable[Promotion]) -> str:
    """Digest of the champion before the present one, for a rollback; "" when there is none.

    Promotions pile up and a rollback takes from the pile, so that rolling back twice goes back
    by two and never forth again.

    Args:
        log: of one service, oldest first.
    """
    pile: list[str] = []
    for step in log:
        if step.event is PromotionEvent.ROLLED_BACK and step.model in pile[:-1]:
            # The newest one below the top: a model may have been champion several times.
            while pile.pop() and pile[-1] != step.model:
                pass
        elif step.event in IN_SERVICE:
            for model in (step.before, step.model):
                if model and pile[-1:] != [model]:
                    pile.append(model)
    return pile[-2] if len(pile) > 1 else ""


def is_demoted(log: Iterable[Promotion], model: str) -> bool:
    """Whether the log says that a model was demoted since a champion was last put in service.

    Args:
        log: of one service, newest first.
    """
    since = takewhile(lambda step: step.event not in IN_SERVICE, log)
    return any(step.event is PromotionEvent.DEMOTED and step.model == model for step in since)


def in_service_since_s(log: Iterable[Promotion]) -> float:
    """When the present champion was put in service, UTC epoch seconds; 0 when nobody knows."""
    return max((step.time_s for step in log if step.event in IN_SERVICE), default=0.0)
