"""Templates of planned changes: an upgrade of data centres, a migration from one to another.

Each makes the stages of an ordinary change, which can be read and corrected before it runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.change_gates import OPEN, Gate
from controlplane.domain.operations.changes import Stage

# Service -> data centre -> share.
Shares = Mapping[str, Mapping[str, float]]
# Shares of the new data centre after each stage, when nothing else is said: a tenth shows whether
# it works at all, a half whether it bears load, and the last one is a drain.
STEPS = (0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a template moves.

    Attributes:
        hold_s: least time of each stage; over_s: a drain takes so long, return_s: the way back.
        gate: of every stage.
    """

    hold_s: float = 300.0
    over_s: float = 60.0
    return_s: float = 300.0
    gate: Gate = OPEN


def upgrade(datacenters: Sequence[str], services: Sequence[str], pace: Pace) -> tuple[Stage, ...]:
    """One data centre after the other: drain it, wait for the operator's work, bring it back.

    Args:
        services: only these; () is all that run there.
    """
    stages: list[Stage] = []
    for datacenter in datacenters:
        drained = len(stages)
        stages += [
            Stage(
                title=f"drain {datacenter}",
                orders=_drains(datacenter, services, pace),
                hold_s=max(pace.hold_s, pace.over_s),
                gate=pace.gate,
            ),
            Stage(title=f"upgrade {datacenter}, then go on", hold_s=None, gate=pace.gate),
            Stage(
                title=f"bring {datacenter} back",
                undoes=(drained,),
                hold_s=max(pace.hold_s, pace.return_s),
                gate=pace.gate,
            ),
        ]
    return tuple(stages)


def migration(
    shares: Shares, move: tuple[str, str], steps: Sequence[float], pace: Pace
) -> tuple[Stage, ...]:
    """Take all services of one data centre to another in steps, each a pin in place of the last.

    A service's other data centres keep their part: only what the old one has moves.

    Args:
        shares: service -> data centre -> share, as published.
        move: the old and the new data centre.
        steps: of the old one's part, what has moved after each stage: rising, up to 1.

    Raises:
        Invalid: no service is in both with traffic in the old one, or the steps do not rise to 1.
    """
    old, new = move
    rising = all(a < b for a, b in pairwise((0.0, *steps)))
    if not steps or not rising or steps[-1] != 1.0:
        raise Invalid("change_invalid", "the steps of a migration rise from above 0 to 1")
    moving = sorted(name for name, one in shares.items() if one.get(old, 0.0) > 0 and new in one)
    if old == new or not moving:
        raise Invalid(
            "change_invalid",
            f"no service has traffic in {old} and endpoints in {new}: declare them first",
        )
    return tuple(
        Stage(
            title=f"{100 * step:g} % of {old} to {new}",
            orders=tuple(_pin(name, shares[name], move, step) for name in moving),
            hold_s=pace.hold_s,
            gate=pace.gate,
        )
        for step in steps
    )


def _drains(datacenter: str, services: Sequence[str], pace: Pace) -> tuple[Wanted, ...]:
    return tuple(
        Wanted(
            kind=IntentKind.DRAIN,
            target=Target(service=service, datacenter=datacenter),
            over_s=pace.over_s,
            return_s=pace.return_s,
        )
        for service in services or ("",)
    )


def _pin(service: str, split: Mapping[str, float], move: tuple[str, str], step: float) -> Wanted:
    old, new = move
    moved = step * split[old]
    pinned = {**split, old: split[old] - moved, new: split[new] + moved}
    return Wanted(
        kind=IntentKind.PIN,
        target=Target(service=service),
        shares=tuple(sorted(pinned.items())),
    )
