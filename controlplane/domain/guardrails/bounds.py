"""Guards on the shares themselves: bounds by role, the step of one cycle, evacuations.

The limits that other guards ask for, too, are public here.
"""

import math
from collections.abc import Sequence

from controlplane.domain.guardrails.draft import (
    NEGLIGIBLE,
    Draft,
    distance,
    held,
    retargeted,
    toward,
)
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.situation import LearnedModel, Shares, Situation

HALVINGS = 60
SUM_TOLERANCE = 1e-6


def within_bounds(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Keep every share within the bounds of its role."""
    if not draft.moving:
        return draft
    target = bounded(draft.target, situation, limits)
    if distance(target, draft.target) < NEGLIGIBLE:
        return draft
    low, high = bounds(situation, limits)
    return retargeted(
        draft, target, "bounded", f"{_text(draft.target)} is not within {_text(low)}..{_text(high)}"
    )


def within_step(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Change no share by more than a cycle's step, to undo a move neither."""
    if not draft.moving:
        return draft
    step = reach(draft, limits)
    target = toward(situation.applied, draft.target, step)
    if target == draft.target:
        return draft
    far = distance(situation.applied, draft.target)
    return retargeted(draft, target, "step_limited", f"{far:.3f} is more than a step of {step:g}")


def keeps_serving(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Refuse to leave more centres without traffic than automation may."""
    if not draft.moving:
        return draft
    empty = [
        center.name
        for center, bears, share in zip(
            situation.centers, situation.bearing, draft.target, strict=True
        )
        if bears and share < NEGLIGIBLE
    ]
    if len(empty) <= limits.evacuations:
        return draft
    return held(
        draft,
        situation,
        "evacuation_limited",
        f"{', '.join(empty)} would be left without traffic, at most {limits.evacuations} may",
    )


def reach(draft: Draft, limits: EnvelopeLimits) -> float:
    """Largest change of a share in this cycle."""
    return limits.hot_step if draft.hot else limits.step


def bounds(situation: Situation, limits: EnvelopeLimits) -> tuple[Shares, Shares]:
    """Lowest and highest share of each centre: 0 for those that do not bear traffic."""
    bearing = situation.bearing
    count = sum(bearing)
    low = limits.low if count == 2 else limits.low_of_many
    low, high = (1.0, 1.0) if count == 1 else (low, limits.high)
    return (
        tuple(low if bears else 0.0 for bears in bearing),
        tuple(high if bears else 0.0 for bears in bearing),
    )


def support(model: LearnedModel, limits: EnvelopeLimits) -> tuple[float, float]:
    """Lowest and highest share of the primary that a network may ask for."""
    margin = limits.support_margin
    return model.ratio_low - margin, model.ratio_high + margin


def is_split(shares: Shares, count: int) -> bool:
    """Whether these are `count` finite shares >= 0 with sum 1."""
    proper = len(shares) == count and all(0 <= share <= 1 + SUM_TOLERANCE for share in shares)
    return proper and abs(math.fsum(shares) - 1.0) <= SUM_TOLERANCE


def bounded(shares: Shares, situation: Situation, limits: EnvelopeLimits) -> Shares:
    """The nearest shares within the bounds that sum to 1.

    They are clip(share + t, low, high) with the one t that makes the sum 1, found by halving.
    """
    low, high = bounds(situation, limits)
    if all(a <= share <= b for a, share, b in zip(low, shares, high, strict=True)):
        return shares
    rows = list(zip(shares, low, high, strict=True))
    below, above = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        if math.fsum(_clipped(rows, middle)) < 1.0:
            below = middle
        else:
            above = middle
    return exact(_clipped(rows, above))


def exact(shares: Sequence[float]) -> Shares:
    """The shares divided by their sum, which is 1 but for rounding."""
    total = math.fsum(shares)
    return tuple(share / total for share in shares)


def _clipped(rows: Sequence[tuple[float, float, float]], shift: float) -> list[float]:
    return [min(max(share + shift, low), high) for share, low, high in rows]


def _text(shares: Shares) -> str:
    return "/".join(f"{share:.3f}" for share in shares)
