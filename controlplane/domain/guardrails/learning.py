"""Guards on what was predicted: law 2, the model proposes, the envelope disposes.

The proposal is numbers, a network stays where it was trained, a move is worth it, and a move
that broke its promise is undone.
"""

from dataclasses import replace

from controlplane.domain.guardrails.bounds import is_split, support
from controlplane.domain.guardrails.capacity import peak
from controlplane.domain.guardrails.dithering import unshifted
from controlplane.domain.guardrails.draft import (
    NEGLIGIBLE,
    Course,
    Draft,
    distance,
    held,
    noted,
    predicted_ms,
    retargeted,
)
from controlplane.domain.guardrails.ledger import level, realised_ms
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.regions import rows_formed, rows_stay
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.projection import worth_of_gain
from controlplane.domain.strategies.situation import Situation


def well_formed(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Hold unless the proposal is one finite share >= 0 per centre, sum 1."""
    if draft.course is not Course.MOVE:
        return draft
    shares = draft.target
    if not is_split(shares, len(situation.centers)):
        message = f"{shares} are not {len(situation.centers)} shares with sum 1"
        return held(draft, situation, "proposal_invalid", message)
    if not rows_formed(draft.proposal, situation):
        message = f"{len(situation.regions)} source regions need a split each, sum 1"
        return held(draft, situation, "proposal_invalid", message)
    still = distance(shares, situation.applied) < NEGLIGIBLE
    if still and rows_stay(draft.proposal.regions, situation):
        return replace(draft, course=Course.HOLD, target=situation.applied)
    return draft


def promise_kept(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Undo the last move after some cycles above the response time that it promised.

    The bound is the promise, or what the strategy predicts now for the same shares when that is
    more: a load that has grown since is no fault of the move. Where everything had been slower than
    predicted before the move, the bound is higher by as much. Counted once per cycle.
    """
    if draft.course not in (Course.MOVE, Course.HOLD):
        return draft
    if not _watched(situation, state, limits):
        return replace(draft, cycles_over=0) if draft.cycles_over else draft
    realised = realised_ms(situation, state.changes_s[-1])
    if realised is None or situation.now_s - state.counted_s < situation.cycle_s / 2:
        return draft
    now_ms = predicted_ms(draft.proposal, situation.applied) or 0.0
    bound = max(state.expected_ms, now_ms * (1.0 + margin(situation, limits)))
    bound *= level(state.ledger.pairs, state.changes_s[-1])
    cycles = state.cycles_over + 1 if realised > bound else 0
    counted = replace(draft, cycles_over=cycles, counted_s=situation.now_s)
    if cycles < limits.revert_cycles:
        return counted
    return retargeted(
        replace(counted, course=Course.REVERT),
        state.previous,
        "reverted",
        f"{realised:.1f} ms, above the bound {bound:.1f} ms for {cycles} cycles",
    )


def supported(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Keep a network's ratio within what its training has seen, and a small margin."""
    if draft.course is not Course.MOVE or not draft.proposal.learned or situation.model is None:
        return draft
    low, high = support(situation.model, limits)
    ratio = min(max(draft.target[0], low), high)
    if ratio == draft.target[0]:
        return draft
    message = f"{draft.target[0]:.3f} is outside the training's {low:.3f}..{high:.3f}"
    return retargeted(draft, (ratio, 1.0 - ratio), "outside_support", message)


def worthwhile(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Hold unless the curve promises the least gain.

    A hot centre's relief needs none, nor does a reserve that joins or leaves. What a shift by
    chance costs now is no gain of a move.
    """
    if draft.course is not Course.MOVE or not draft.proposal.predicts or situation.muster.changing:
        return draft
    use = draft.use
    if draft.hot and peak(use, draft.target) < peak(use, situation.applied):
        return draft
    now_ms = predicted_ms(draft.proposal, unshifted(situation, state))
    then_ms = predicted_ms(draft.proposal, draft.target)
    if now_ms is None:
        return noted(draft, "gain_unknown", "the curve does not reach the shares in force")
    least = limits.learned_gain if draft.proposal.learned else limits.gain
    needed = least * worth_of_gain(situation)
    gain = 0.0 if then_ms is None else (now_ms - then_ms) / max(abs(now_ms), 1e-9)
    if gain >= needed:
        return draft
    message = f"{gain:.2%} predicted gain, a move needs {needed:.1%} at this load"
    return held(draft, situation, "gain_too_small", message)


def margin(situation: Situation, limits: EnvelopeLimits) -> float:
    """Relative margin on a promised response time: two spreads of the model's error at least."""
    spread = situation.model.residual_spread if situation.model else 0.0
    return max(limits.revert_margin, 2.0 * spread)


def _watched(situation: Situation, state: GuardState, limits: EnvelopeLimits) -> bool:
    """Whether the last move's promise still counts: made, recent, and its shares in force."""
    return (
        state.expected_ms > 0
        and len(state.previous) == len(situation.centers) == len(state.moved_to)
        and distance(state.moved_to, situation.applied) < NEGLIGIBLE
        and bool(state.changes_s)
        and situation.now_s - state.changes_s[-1] <= limits.revert_watch_s
    )
