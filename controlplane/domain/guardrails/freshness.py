"""Guards on the metrics: law 4, missing is not zero."""

import math
from dataclasses import replace

from controlplane.domain.guardrails.bounds import bounded
from controlplane.domain.guardrails.draft import Course, Draft, distance, noted, retargeted, toward
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.rules import static
from controlplane.domain.strategies.situation import Center, Situation


def in_force(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Hold while no share is in force: a service without endpoints has nothing to split."""
    if any(share > 0 for share in situation.applied):
        return draft
    return replace(draft, target=situation.applied, course=Course.BLIND_HOLD)


def fresh(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Hold while a bearing centre's newest sample is old; ramp to the static ratio after long.

    Age counts from receipt by our own clock.
    """
    if draft.course is not Course.MOVE:
        return draft
    silent, name = max((age_s, name) for name, age_s in _ages_s(situation, state).items())
    if silent <= limits.fresh_s:
        return draft
    blind = replace(draft, target=situation.applied, course=Course.BLIND_HOLD)
    oldest = f"no sample of {name}"
    if silent < math.inf:
        oldest = f"the newest sample of {name} is {silent:.0f} s old"
    blind = noted(blind, "metrics_stale", f"{oldest}, the limit is {limits.fresh_s:.4g} s")
    if silent <= limits.ramp_after_s:
        return blind
    fallback = bounded(static(situation).shares, situation, limits)
    target = toward(situation.applied, fallback, limits.ramp_step)
    ramp = replace(blind, course=Course.RAMP)
    return retargeted(
        ramp,
        target,
        "ramping_to_static",
        f"silent for more than {limits.ramp_after_s:.4g} s: "
        f"{distance(situation.applied, fallback):.3f} away from the static ratio",
    )


def sane(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Hold when a newest sample cannot be a fact (a replayed or imported situation)."""
    if draft.course is not Course.MOVE:
        return draft
    absurd = [
        center.name
        for center, counts in zip(situation.centers, _counting(situation), strict=True)
        if counts and not _credible(situation, center)
    ]
    if not absurd:
        return draft
    blind = replace(draft, target=situation.applied, course=Course.BLIND_HOLD)
    return noted(blind, "metrics_insane", f"newest sample of {', '.join(absurd)} is no fact")


def suspected(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Note what is suspicious about the metrics: it is the reason when the trusted ones age."""
    for suspicion in situation.suspicions:
        draft = noted(draft, suspicion.code, f"{suspicion.subject}: {suspicion.message}")
    return draft


def trusted(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Hold while something about the metrics is suspicious, but for relief by trusted ones."""
    if draft.course is not Course.MOVE or not situation.suspicions:
        return draft
    return replace(draft, target=situation.applied, course=Course.DOUBTED)


def _ages_s(situation: Situation, state: GuardState) -> dict[str, float]:
    """Age of the newest sample of every centre that bears traffic, now or in normal times.

    A reserve may have reported nothing before it joined: its silence counts from the last move,
    and not at all while it joins.
    """
    since_s = situation.now_s - state.changes_s[-1] if state.changes_s else math.inf
    return {
        center.name: min(age_s, 0.0 if center.name in situation.muster.joining else since_s)
        if situation.muster.bearing and not center.serves
        else age_s
        for center, counts in zip(situation.centers, _counting(situation), strict=True)
        if counts
        for age_s in (situation.window.age_s(center.name, situation.now_s),)
    }


def _counting(situation: Situation) -> list[bool]:
    """Centres that bear traffic, now or in normal times; the others hold nobody up."""
    return [
        bears or share > 0
        for bears, share in zip(situation.bearing, situation.applied, strict=True)
    ]


def _credible(situation: Situation, center: Center) -> bool:
    newest = situation.window.latest(center.name)
    if newest is None:
        return True
    cpu = 0.0 if newest.cpu_avg is None else newest.cpu_avg
    return (
        math.isfinite(newest.response_time_ms)
        and newest.response_time_ms >= 0
        and math.isfinite(newest.load)
        and newest.load >= 0
        and 0 <= cpu <= 1
    )
