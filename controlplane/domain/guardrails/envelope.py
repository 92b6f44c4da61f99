"""The envelope: every proposal passes these guards, in this order, before any data plane.

Called by the engine once per service and cycle, by the backtest, and for a replay. Pure: the
same proposal, situation and state give the same verdict.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from controlplane.domain.guardrails.bounds import exact, keeps_serving, within_bounds, within_step
from controlplane.domain.guardrails.capacity import measured, relieved, within_capacity
from controlplane.domain.guardrails.dithering import dithered, unshifted
from controlplane.domain.guardrails.draft import (
    NEGLIGIBLE,
    Course,
    Draft,
    distance,
    predicted_ms,
    retargeted,
)
from controlplane.domain.guardrails.freshness import fresh, in_force, sane, suspected, trusted
from controlplane.domain.guardrails.intervals import announced, compared
from controlplane.domain.guardrails.learning import (
    margin,
    promise_kept,
    supported,
    well_formed,
    worthwhile,
)
from controlplane.domain.guardrails.ledger import foretold, settled
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.pacing import (
    cooled_down,
    dwelt,
    recent_changes,
    within_budget,
)
from controlplane.domain.guardrails.regions import rows_of, rows_stay, within_region_step
from controlplane.domain.guardrails.reserves import called
from controlplane.domain.guardrails.skill import counts, recent_reverts, skilled
from controlplane.domain.guardrails.state import (
    Concession,
    Demotion,
    GuardState,
    Outcome,
    Verdict,
)
from controlplane.domain.strategies.regions import in_force as in_force_rows
from controlplane.domain.strategies.situation import Note, Proposal, Shares, Situation

Guard = Callable[[Draft, Situation, GuardState, EnvelopeLimits], Draft]

# Facts first, then what the move is, how far, whether it is worth it and whether it is time; then
# a shift by chance within all of that; last the way out of an overload, which no earlier guard may
# block.
GUARDS: tuple[Guard, ...] = (
    in_force,
    suspected,
    fresh,
    sane,
    measured,
    trusted,
    well_formed,
    called,
    promise_kept,
    skilled,
    within_bounds,
    supported,
    within_region_step,
    within_step,
    within_capacity,
    keeps_serving,
    worthwhile,
    dwelt,
    cooled_down,
    within_budget,
    dithered,
    relieved,
)

# Code of the note that the guard over all services leaves.
POOL_SHARED = "pool_shared"

OUTCOMES = {
    Course.MOVE: Outcome.MOVED,
    Course.RELIEF: Outcome.MOVED,
    Course.REVERT: Outcome.REVERTED,
    Course.RAMP: Outcome.RAMPED,
    Course.DITHER: Outcome.DITHERED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One guard's part of a verdict.

    Attributes:
        before, after: shares that would have gone out, before and after it.
        course: what the draft was about to do after it.
        notes: what it had to say; () when it let the draft pass.
    """

    guard: str
    before: Shares
    after: Shares
    course: Course
    notes: tuple[Note, ...]


def judge(
    proposal: Proposal,
    situation: Situation,
    state: GuardState,
    limits: EnvelopeLimits,
    concession: Concession | None = None,
) -> Verdict:
    """Let a proposal through, trim it, or refuse it.

    Args:
        state: `Verdict.state` of the service's last verdict that went into force, else
            `GuardState()`.
        concession: what the guard over all services made of the verdict without one.

    Returns:
        The shares to put in force (sum 1), the notes of the guards (not the proposal's own), and
        the state to store with them.
    """
    state = _read_on(situation, state, limits)
    draft = _conceding(_drafts(proposal, situation, state, limits)[-1], concession)
    rows = (
        rows_of(draft, situation) if draft.course in OUTCOMES else in_force_rows(situation.regions)
    )
    if distance(draft.target, situation.applied) < NEGLIGIBLE and rows_stay(rows, situation):
        draft = replace(draft, target=situation.applied, course=Course.HOLD)
        rows = in_force_rows(situation.regions)
    else:
        draft = replace(draft, target=exact(draft.target))
    return Verdict(
        outcome=OUTCOMES.get(draft.course, Outcome.HELD),
        shares=draft.target,
        state=_next_state(draft, situation, state, limits),
        notes=draft.notes,
        regions=rows,
    )


def passages(
    proposal: Proposal, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> tuple[Passage, ...]:
    """What each guard did with the proposal, in order; arguments as for `judge`."""
    drafts = _drafts(proposal, situation, _read_on(situation, state, limits), limits)
    return tuple(
        Passage(
            guard=guard.__name__,
            before=before.target,
            after=after.target,
            course=after.course,
            notes=after.notes[len(before.notes) :],
        )
        for guard, (before, after) in zip(GUARDS, pairwise(drafts), strict=True)
    )


def _read_on(situation: Situation, state: GuardState, limits: EnvelopeLimits) -> GuardState:
    """The state with its ledger and its intervals up to now, as the guards read it."""
    return replace(
        state,
        ledger=settled(state.ledger, situation, limits.skill_cycles),
        calibration=compared(state.calibration, situation),
    )


def _drafts(
    proposal: Proposal, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> list[Draft]:
    """The draft before the first guard, and after each."""
    drafts = [
        Draft(
            proposal=proposal,
            target=proposal.shares,
            cycles_over=state.cycles_over,
            counted_s=state.counted_s,
        )
    ]
    for guard in GUARDS:
        drafts.append(guard(drafts[-1], situation, state, limits))
    return drafts


def _conceding(draft: Draft, concession: Concession | None) -> Draft:
    if concession is None:
        return draft
    moves = draft.course in OUTCOMES
    given = replace(draft, course=draft.course if moves else Course.RELIEF, dither=None)
    return retargeted(given, concession.shares, POOL_SHARED, concession.reason)


def _next_state(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> GuardState:
    now_s = situation.now_s
    kept = replace(
        state,
        changes_s=recent_changes(situation, state, limits),
        reverts_s=recent_reverts(situation, state, limits),
        ledger=foretold(state.ledger, situation, draft.proposal, draft.target),
        demotion=_demotion(draft, situation, state),
        cycles_over=draft.cycles_over,
        counted_s=draft.counted_s,
        calibration=announced(state.calibration, situation, draft.proposal, draft.target),
        dither=None if draft.course is Course.RELIEF else draft.dither,
    )
    if draft.course not in OUTCOMES:
        return kept
    if draft.course is Course.DITHER:
        return _shifted(kept, draft, situation)
    # Whatever moved, the earlier promise is void.
    moved = replace(
        kept,
        previous=unshifted(situation, state),
        moved_to=draft.target,
        expected_ms=0.0,
        cycles_over=0,
    )
    if draft.course is Course.RAMP:
        return moved
    moved = replace(moved, changes_s=(*kept.changes_s, now_s))
    if draft.course is Course.REVERT:
        return replace(
            moved,
            previous=(),
            hold_until_s=now_s + limits.cooldown_s,
            reverts_s=(*kept.reverts_s, now_s) if counts(draft) else kept.reverts_s,
        )
    if draft.course is Course.MOVE:
        return replace(moved, expected_ms=_promise_ms(draft, situation, limits))
    return moved


def _shifted(kept: GuardState, draft: Draft, situation: Situation) -> GuardState:
    """A shift by chance: the promise of the last move goes on at the shares that it leads to."""
    before = kept.moved_to
    promised = len(before) == len(draft.target) and distance(before, situation.applied) < NEGLIGIBLE
    return replace(kept, moved_to=draft.target) if promised else kept


def _demotion(draft: Draft, situation: Situation, state: GuardState) -> Demotion | None:
    """The one that stands, or that begins with this cycle; a model in service has none."""
    if situation.model is None:
        return state.demotion if state.demoted_model == situation.demoted_model else None
    if not draft.demoted:
        return None
    return Demotion(model=situation.model.digest, time_s=situation.now_s, reason=draft.demoted)


def _promise_ms(draft: Draft, situation: Situation, limits: EnvelopeLimits) -> float:
    """Upper bound of the response time that the curve promises at the target; 0 is none."""
    predicted = predicted_ms(draft.proposal, draft.target)
    return 0.0 if predicted is None else predicted * (1.0 + margin(situation, limits))
