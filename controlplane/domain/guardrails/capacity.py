"""Guards on projected utilisation: no split may bring a pool past its capacity.

Utilisation of a centre follows its share along `Draft.use`: by CPU up to the fitted saturation,
by declared capacity where no CPU is reported, on top of what others put on a shared pool.
"""

import math
from dataclasses import replace

from controlplane.domain.guardrails.bounds import bounds, exact, reach
from controlplane.domain.guardrails.draft import Course, Draft, noted, retargeted, toward
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.pacing import spent
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.projection import UseByShare, present_peak, use_by_share
from controlplane.domain.strategies.situation import Shares, Situation

DECLARED = frozenset({StrategyName.STATIC, StrategyName.CAPACITY})


def measured(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Project utilisation for the guards below, and see whether a centre is hot."""
    if draft.course is not Course.MOVE:
        return draft
    use = use_by_share(situation)
    if not _known(use, situation):
        blind = replace(draft, target=situation.applied, course=Course.BLIND_HOLD)
        message = "a data centre reports neither CPU nor a request rate; no move can be judged"
        return noted(blind, "utilization_unknown", message)
    # Of a regional service the load is not only the machines': its rule says when it is hot.
    called = bool(situation.regions) and draft.proposal.urgent
    hot = peak(use, situation.applied) > limits.hot_level
    hot_now = present_peak(situation) > limits.hot_level
    return replace(draft, use=use, hot=hot or called, hot_now=hot_now or called)


def within_capacity(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Move only as far as every centre stays below the limit, else to the least loaded split.

    The limit is max(capacity_level, best + capacity_slack), best being the smallest peak that
    any split within the bounds has, so that a veto never blocks the way out of an overload.
    """
    if not draft.moving:
        return draft
    use = draft.use
    limit = limits.capacity_level
    # The limit itself is dear to find and never below its level.
    if peak(use, draft.target) > limit:
        limit = ceiling(use, situation, limits)
    if peak(use, draft.target) <= limit:
        return draft
    safest = toward(situation.applied, level(use, situation, limits), reach(draft, limits))
    # The least loaded split knows no regions; rows go their own way, or not at all.
    stays = bool(situation.regions) or peak(use, situation.applied) <= limit
    start = situation.applied if stays else safest
    target = _farthest(use, start, draft.target, limit)
    return retargeted(
        draft,
        target,
        "capacity_veto",
        f"{peak(use, draft.target):.3f} projected utilisation is above {limit:.3f}",
    )


def relieved(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Step to the least loaded split when a held one is hot, whatever the strategy says.

    So a model that proposes nothing or nonsense cannot keep a centre overloaded. A declared
    ratio is an operator's word and stays. Past the moves of an hour it must be hot already: a
    forecast is no reason to break a promise.
    """
    held = draft.course in (Course.HOLD, Course.DOUBTED)
    if not held or not draft.hot or draft.proposal.strategy in DECLARED:
        return draft
    if not draft.hot_now and spent(situation, state, limits):
        return draft
    use = draft.use
    now = peak(use, situation.applied)
    if now <= ceiling(use, situation, limits):
        return draft
    target = toward(situation.applied, level(use, situation, limits), reach(draft, limits))
    return retargeted(
        replace(draft, course=Course.RELIEF),
        target,
        "capacity_relief",
        f"{now:.3f} utilisation with the shares in force; {peak(use, target):.3f} after the step",
    )


def ceiling(use: UseByShare, situation: Situation, limits: EnvelopeLimits) -> float:
    """The utilisation that a move may bring a centre to."""
    best = peak(use, level(use, situation, limits))
    return max(limits.capacity_level, best + limits.capacity_slack)


def level(use: UseByShare, situation: Situation, limits: EnvelopeLimits) -> Shares:
    """Shares within the bounds with the smallest peak utilisation: water filling.

    clip((w - standing) / per share, low, high) with the lowest water level w whose sum reaches 1.
    The sum rises with w in straight pieces, which end where a centre meets one of its bounds.
    """
    low, high = bounds(situation, limits)
    if not any(u > 0 and b > 0 for u, b in zip(use.per_share, high, strict=True)):
        return situation.applied
    rows = tuple(zip(use.standing, use.per_share, low, high, strict=True))
    ends = sorted({s + u * part for s, u, a, b in rows if b > 0 and u > 0 for part in (a, b)})
    below, dry = ends[0], math.fsum(_filled(use, ends[0], low, high))
    for end in ends:
        full = math.fsum(_filled(use, end, low, high))
        if full >= 1.0:
            break
        below, dry = end, full
    part = (1.0 - dry) / (full - dry) if full > dry else 1.0
    return exact(_filled(use, below + (end - below) * min(part, 1.0), low, high))


def peak(use: UseByShare, shares: Shares) -> float:
    """Largest utilisation of a centre at these shares."""
    return max([u for u, share in zip(use.at(shares), shares, strict=True) if share > 0])


def _known(use: UseByShare, situation: Situation) -> bool:
    return all(
        use.known(index) or not (bears or share > 0)
        for index, (bears, share) in enumerate(
            zip(situation.bearing, situation.applied, strict=True)
        )
    )


def _filled(use: UseByShare, water: float, low: Shares, high: Shares) -> Shares:
    return tuple(
        min(max((water - standing) / u if u > 0 else b, a), b) if b > 0 else 0.0
        for standing, u, a, b in zip(use.standing, use.per_share, low, high, strict=True)
    )


def _farthest(use: UseByShare, start: Shares, end: Shares, limit: float) -> Shares:
    """The farthest point from `start` towards `end` with every centre at most at the limit.

    Utilisation is linear along the way; when `start` is above the limit already, it stays.
    """
    part = 1.0
    for standing, u, a, b in zip(use.standing, use.per_share, start, end, strict=True):
        if b > a and standing + u * b > limit:
            part = min(part, max(((limit - standing) / u - a) / (b - a), 0.0))
    return tuple(a + (b - a) * part for a, b in zip(start, end, strict=True))
