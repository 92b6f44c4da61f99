"""Guards on time: dwell, the pause after a revert, changes per hour. A hot centre waives them,
the last only when it is hot already, not when it will be by a forecast."""

from controlplane.domain.guardrails.draft import Course, Draft, held
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.situation import Situation

# A timer that comes a little early still counts as its cycle.
TIMER_TOLERANCE = 0.1


def dwelt(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Leave some cycles between two moves, unless hot, urgent, or CPU is above the alarm level."""
    if draft.course is not Course.MOVE or not state.changes_s or draft.hot:
        return draft
    if draft.proposal.urgent or _alarmed(situation):
        return draft
    since_s = situation.now_s - state.changes_s[-1]
    dwell_s = (limits.dwell_cycles - TIMER_TOLERANCE) * situation.cycle_s
    if since_s >= dwell_s:
        return draft
    message = f"{since_s:.0f} s since the last move, {limits.dwell_cycles} cycles are due"
    return held(draft, situation, "dwell", message)


def cooled_down(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Pause after a revert, unless hot."""
    if draft.course is not Course.MOVE or draft.hot or situation.now_s >= state.hold_until_s:
        return draft
    left_s = state.hold_until_s - situation.now_s
    return held(draft, situation, "cooling_down", f"{left_s:.0f} s left after a revert")


def within_budget(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Move at most so many times per hour, unless a centre is hot by what is measured.

    A revert is a move: it waits, and is due in every cycle in which the promise is still broken.
    """
    if not draft.moving or draft.hot_now or not spent(situation, state, limits):
        return draft
    count = len(recent_changes(situation, state, limits))
    message = f"{count} moves in {limits.changes_window_s:g} s, at most {limits.changes}"
    return held(draft, situation, "change_budget", message)


def spent(situation: Situation, state: GuardState, limits: EnvelopeLimits) -> bool:
    """Whether the moves of an hour are made."""
    return len(recent_changes(situation, state, limits)) >= limits.changes


def recent_changes(
    situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> tuple[float, ...]:
    """Times of the moves within the window, oldest first."""
    since_s = situation.now_s - limits.changes_window_s
    return tuple(time_s for time_s in state.changes_s if time_s > since_s)


def _alarmed(situation: Situation) -> bool:
    newest = [situation.window.latest(center.name) for center in situation.centers]
    return any(
        sample is not None
        and sample.cpu_avg is not None
        and sample.cpu_avg > situation.service.alarm_cpu
        for sample in newest
    )
