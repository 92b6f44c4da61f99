"""The skill guard: a model that forecasts badly loses its service to `observed_laws`.

Judged by its live ledger, by nothing that training said about its quality. A model has lost its
skill over the last cycles when persistence was as good in most of them and on the whole, *and*
most of its errors are outside what its error on held-out rows explains; or when it has no answer
in a quarter of them, or the same whatever it is asked; or when its moves had to be undone twice
in two hours. Persistence over five minutes is strong: a sound model is behind it for hours when a
site has become slower as a whole, which does not harm its choice. So one that has proved itself
must be far worse (docs/adr has the figures).
"""

from dataclasses import dataclass, replace

from controlplane.domain.guardrails.draft import Course, Draft, held
from controlplane.domain.guardrails.ledger import (
    Ledger,
    Pair,
    mean_error,
    mean_persistence_error,
)
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.situation import LearnedModel, Situation

# Part of the cycles in which persistence must have been as good.
MOST = 0.75
# A model has proved itself after so many windows of forecasts. From then on its mean error must be
# so many times that of persistence, and so many times the allowance is allowed.
PROVED_WINDOWS, PROVED_WORSE, PROVED_ALLOWANCE = 2, 2.0, 4.0
# Part of the cycles without an answer that is too much: a sound model always has one.
SILENT = 0.25
# From this utilisation on a small error in the load is a large one in the response time, and so
# many times the allowance is allowed.
BUSY, BUSY_ALLOWANCE = 0.8, 2.0
# Nearly full, response times double within a cycle, and nobody forecasts them.
NEARLY_FULL, FULL_ALLOWANCE = 0.9, 4.0
# Reverts are remembered for so many windows of the change budget (an hour each).
REVERT_MEMORY = 2
# Answers that lie closer together than this, relative, are the same answer.
SAME = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """How a ledger reads; errors are mean absolute relative errors.

    Attributes:
        cycles: pairs behind the figures.
        worse: how many times as wrong as persistence it may be on the mean.
        allowed: error of a calm cycle that is not too much.
        beaten: cycles in which persistence was as good as the model.
        outside: cycles whose error is larger than that.
        missed: cycles without an answer.
        mute: whether every answer was the same, for every candidate and in every cycle.
    """

    cycles: int
    error: float
    persistence_error: float
    worse: float
    allowed: float
    beaten: int
    outside: int
    missed: int
    mute: bool

    @property
    def lost(self) -> bool:
        """Whether the model says nothing that persistence does not say better."""
        limit = self.worse * self.persistence_error
        beaten = self.beaten >= MOST * self.cycles and self.error >= limit
        silent = self.missed > 0 and self.missed >= SILENT * self.cycles
        return self.mute or silent or (beaten and self.outside > self.cycles / 2)

    @property
    def words(self) -> str:
        """The figures in a sentence."""
        if self.mute:
            return f"the same answer to every question over {self.cycles} cycles"
        return (
            f"mean error {self.error:.1%} over {self.cycles} cycles, {self.outside} of them "
            f"outside the {self.allowed:.1%} that a sound model may have; persistence has "
            f"{self.persistence_error:.1%} and was as good in {self.beaten}; "
            f"no answer in {self.missed}"
        )


def skilled(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Demote the model, from the next cycle on, when its ledger or its reverts say so.

    In this cycle it only holds: what a model proposes that has just been demoted is not done.
    """
    if situation.model is None:
        return draft
    reverts = len(recent_reverts(situation, state, limits)) + counts(draft)
    if reverts >= limits.skill_reverts and draft.proposal.modeled:
        reason = f"{reverts} reverts within {REVERT_MEMORY * limits.changes_window_s:g} s"
    else:
        skill = read(state.ledger, situation.model, limits)
        if skill.cycles < limits.skill_cycles or not skill.lost:
            return draft
        reason = skill.words
    demoted = replace(draft, demoted=reason)
    if draft.course is not Course.MOVE:
        return demoted
    message = f"{reason}; it is no longer asked until it is promoted again"
    return held(demoted, situation, "model_demoted", message)


def read(ledger: Ledger, model: LearnedModel, limits: EnvelopeLimits) -> Skill:
    """What the pairs of a ledger say about its model."""
    pairs = ledger.pairs
    allowed = max(limits.skill_margin, limits.skill_spreads * model.residual_spread)
    proved = ledger.judged >= PROVED_WINDOWS * limits.skill_cycles
    allowed *= PROVED_ALLOWANCE if proved else 1.0
    said = [pair.predicted_ms for pair in pairs if pair.predicted_ms is not None]
    flat = len(said) == len(pairs) and all(pair.span < SAME for pair in pairs)
    return Skill(
        cycles=len(pairs),
        error=mean_error(pairs),
        persistence_error=mean_persistence_error(pairs),
        worse=PROVED_WORSE if proved else 1.0,
        allowed=allowed,
        beaten=sum(_beaten(pair) for pair in pairs),
        outside=sum(_outside(pair, allowed) for pair in pairs),
        missed=len(pairs) - len(said),
        mute=bool(said) and flat and max(said) - min(said) < SAME * abs(max(said)),
    )


def counts(draft: Draft) -> bool:
    """Whether it is a revert that says something about the model: in a hot site none does."""
    return draft.course is Course.REVERT and not draft.hot


def recent_reverts(
    situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> tuple[float, ...]:
    """Times of the reverts that still count, oldest first."""
    since_s = situation.now_s - REVERT_MEMORY * limits.changes_window_s
    return tuple(time_s for time_s in state.reverts_s if time_s > since_s)


def calm_error(pair: Pair) -> float | None:
    """The error as of a calm cycle: half of it in a busy one; None is a miss."""
    if pair.error is None or pair.use < BUSY:
        return pair.error
    return pair.error / BUSY_ALLOWANCE


def _beaten(pair: Pair) -> bool:
    error = pair.error
    return error is None or abs(error) >= abs(pair.persistence_error)


def _outside(pair: Pair, allowed: float) -> bool:
    error = calm_error(pair)
    if pair.use >= NEARLY_FULL:
        allowed *= FULL_ALLOWANCE / BUSY_ALLOWANCE
    return error is None or abs(error) > allowed
