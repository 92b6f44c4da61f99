"""A proposal on its way through the guards: where it stands and what was noted so far.

Made by `envelope.judge`, changed by each guard in turn, read as the verdict at the end.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.dither import Dither
from controlplane.domain.strategies.projection import UseByShare
from controlplane.domain.strategies.situation import (
    GRID_OF_MANY,
    CenterCurve,
    CurvePoint,
    Note,
    Proposal,
    Shares,
    Situation,
)

# Differences of a share below one basis point cannot be published: they are no move.
NEGLIGIBLE = 1e-4
NOTHING_KNOWN = UseByShare()
# What rounding may add to a share.
ROUNDING = 1e-9


class Course(StrEnum):
    """What the draft is about to do."""

    MOVE = "move"
    REVERT = "revert"
    HOLD = "hold"
    # Held or ramped without metrics to go by: no later guard judges anything.
    BLIND_HOLD = "blind-hold"
    RAMP = "ramp"
    # Held because the input is suspicious: only relief by what is trusted may still move.
    DOUBTED = "doubted"
    # Off an overloaded split, against the strategy.
    RELIEF = "relief"
    # Held but for a small shift by chance.
    DITHER = "dither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The draft between two guards.

    Attributes:
        target: shares that would go out now.
        use: utilisation of each centre by its share; empty while nothing is known.
        hot: whether a centre is past the hot level with the shares in force, by the load to come.
        hot_now: the same by what was measured, without any forecast.
        cycles_over, counted_s: the revert guard's count, for the next state.
        dither: the shift by chance that goes out with the target; None without one.
        demoted: why the model may not decide any more from the next cycle on; "" when it may.
    """

    proposal: Proposal
    target: Shares
    course: Course = Course.MOVE
    use: UseByShare = NOTHING_KNOWN
    hot: bool = False
    hot_now: bool = False
    cycles_over: int = 0
    counted_s: float = 0.0
    demoted: str = ""
    dither: Dither | None = None
    notes: tuple[Note, ...] = ()

    @property
    def moving(self) -> bool:
        """Whether the guards on shares apply to it."""
        return self.course in (Course.MOVE, Course.REVERT)


def noted(draft: Draft, code: str, message: str) -> Draft:
    """The draft with one more note."""
    return replace(draft, notes=(*draft.notes, Note(code=code, message=message)))


def retargeted(draft: Draft, target: Shares, code: str, message: str) -> Draft:
    """The draft with other shares and the note why."""
    return replace(draft, target=target, notes=(*draft.notes, Note(code=code, message=message)))


def held(draft: Draft, situation: Situation, code: str, message: str) -> Draft:
    """The draft without its move, and the note why."""
    notes = (*draft.notes, Note(code=code, message=message))
    return replace(draft, target=situation.applied, course=Course.HOLD, notes=notes)


def distance(one: Shares, other: Shares) -> float:
    """Largest difference of a share."""
    return max([abs(a - b) for a, b in zip(one, other, strict=True)], default=0.0)


def toward(start: Shares, end: Shares, step: float) -> Shares:
    """`end`, or the point on the way to it at which the first share has changed by `step`."""
    far = distance(start, end)
    if far <= step + ROUNDING:
        return end
    return tuple(a + (b - a) * step / far for a, b in zip(start, end, strict=True))


def predicted_ms(proposal: Proposal, shares: Shares) -> float | None:
    """The proposal's curve at these shares, straight between its points; None without a curve.

    None too beyond the ends of the curve: what was not predicted is not known.
    """
    if proposal.center_curves:
        return _sum_ms(proposal.center_curves, shares)
    curve, ratio = proposal.curve, shares[0]
    if not curve or not curve[0].ratio - ROUNDING <= ratio <= curve[-1].ratio + ROUNDING:
        return None
    after = bisect_right(curve, ratio, key=_ratio)
    ends = [(p.ratio, p.response_time_ms) for p in curve[max(after - 1, 0) : after + 1]]
    return _between(ends, ratio)


def _sum_ms(curves: tuple[CenterCurve, ...], shares: Shares) -> float | None:
    parts = [
        share * _of_one(curve, share)
        for curve, share in zip(curves, shares, strict=True)
        if share > 0
    ]
    total = math.fsum(parts)
    return total if math.isfinite(total) else None


def _of_one(curve: CenterCurve, share: float) -> float:
    after = bisect_right(GRID_OF_MANY, share)
    at = range(len(GRID_OF_MANY))[max(after - 1, 0) : after + 1]
    return _between([(float(GRID_OF_MANY[i]), curve.response_time_ms[i]) for i in at], share)


def _between(ends: Sequence[tuple[float, float]], x: float) -> float:
    """The value at x, straight between two points; at the only one or beyond them, the nearest."""
    (x0, y0), (x1, y1) = ends[0], ends[-1]
    if x <= x0 or x0 == x1:
        return y0
    return (y1 - y0) / (x1 - x0) * (x - x0) + y0


def _ratio(point: CurvePoint) -> float:
    return point.ratio
