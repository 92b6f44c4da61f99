"""The guard that dithers: it shifts what the others let out, by a little and by chance.

It runs when all others that hold or trim a move have spoken, and keeps what they stand for: a
shifted share lies within the bounds, the step, the capacity and the support, and costs at most 1 %
by the prediction; nothing is shifted while a centre is hot, a reserve comes or goes, a revert is
waited out, or metrics are doubtful. A shift is no move: it spends no budget, starts no dwell and
makes no promise; what the other guards compare a move with is the split without it.
"""

from dataclasses import dataclass, replace

from controlplane.domain.dither import (
    Dither,
    DitherMode,
    block_at,
    propensity,
    sign_of,
    undrawn,
)
from controlplane.domain.guardrails.bounds import bounds, reach, support
from controlplane.domain.guardrails.capacity import ceiling, peak
from controlplane.domain.guardrails.draft import (
    NEGLIGIBLE,
    ROUNDING,
    Course,
    Draft,
    distance,
    noted,
    predicted_ms,
    toward,
)
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.situation import Shares, Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """What a shift has to keep to.

    Attributes:
        anchor: the shares without it.
        dearest_ms: prediction that it may not pass.
        level: utilisation that it may not pass.
    """

    draft: Draft
    situation: Situation
    limits: EnvelopeLimits
    anchor: Shares
    dearest_ms: float
    level: float

    def shifted(self, sign: int) -> Shares:
        """The shares with a shift up (1), down (-1) or none (0)."""
        ratio = self.anchor[0] + sign * self.limits.dither_offset
        return (ratio, 1.0 - ratio) if sign else self.anchor

    def allows(self, sign: int) -> bool:
        """Whether every guard would let it pass."""
        shares, facts, limits = self.shifted(sign), self.situation, self.limits
        predicted = predicted_ms(self.draft.proposal, shares)
        rows = zip(shares, *bounds(facts, limits), strict=True)
        return (
            all(low <= share <= high for share, low, high in rows)
            and distance(facts.applied, shares) <= reach(self.draft, limits) + ROUNDING
            and peak(self.draft.use, shares) <= self.level
            and predicted is not None
            and predicted <= self.dearest_ms
            and _supported(self, shares)
        )


def dithered(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Shift the share a little, by chance, where it costs next to nothing."""
    before, wanted = standing(situation, state), _wanted(situation, limits)
    if not wanted and before is None:
        return draft
    if draft.course in (Course.BLIND_HOLD, Course.DOUBTED):
        return replace(draft, dither=None if before is None else undrawn(before))
    if draft.course not in (Course.MOVE, Course.HOLD) or draft.hot:
        return draft
    anchor = draft.target if draft.course is Course.MOVE else unshifted(situation, state)
    room = _room(draft, situation, limits, anchor)
    if peak(draft.use, anchor) > max(room.level, peak(draft.use, draft.target)):
        # The way back is closed: what is in force stays, and is no shift any more.
        return draft
    if not wanted:
        return replace(_put(room, _undrawn(room)), dither=None)
    calm = _calm(draft, situation, state)
    return _put(room, _drawn(room, before) if calm else _undrawn(room))


def standing(situation: Situation, state: GuardState) -> Dither | None:
    """The shift that is in force; None without one, and when somebody else moved since."""
    shift = state.dither
    if shift is None or len(shift.shares) != len(situation.applied):
        return None
    return shift if distance(shift.shares, situation.applied) < NEGLIGIBLE else None


def unshifted(situation: Situation, state: GuardState) -> Shares:
    """The shares in force without the shift."""
    shift = standing(situation, state)
    return situation.applied if shift is None else shift.anchor


def _wanted(situation: Situation, limits: EnvelopeLimits) -> bool:
    everyone = limits.dither is DitherMode.ALL
    declared = limits.dither is DitherMode.DECLARED and situation.service.dither
    # The sum over source regions changes with their demand: there is no share to shift.
    return (everyone or declared) and not situation.regions


def _calm(draft: Draft, situation: Situation, state: GuardState) -> bool:
    """Two centres with a curve between them, and nothing going on that a shift would disturb."""
    alone = all(center.shared is None for center in situation.centers)
    return (
        len(situation.centers) == 2
        and all(situation.bearing)
        and alone
        and bool(draft.proposal.curve)
        and not draft.proposal.urgent
        and not draft.demoted
        and not situation.muster.changing
        and situation.now_s >= state.hold_until_s
    )


def _room(draft: Draft, situation: Situation, limits: EnvelopeLimits, anchor: Shares) -> _Room:
    best = min((point.response_time_ms for point in draft.proposal.curve), default=0.0)
    return _Room(
        draft=draft,
        situation=situation,
        limits=limits,
        anchor=anchor,
        dearest_ms=best * (1.0 + limits.dither_cost),
        level=ceiling(draft.use, situation, limits),
    )


def _drawn(room: _Room, before: Dither | None) -> Dither:
    """The shift of this block. Within a block it stays or ends, and never begins."""
    block, name = _block(room), room.situation.service.name
    sign = sign_of(name, block)
    if before is not None and before.block == block:
        sign = sign if before.offset else 0
        stays = before.drawn and (not sign or room.allows(sign))
        return _of(room, sign, before.propensity) if stays else _undrawn(room)
    allowed = [each for each in (1, -1) if room.allows(each)]
    sign = sign if sign in allowed else 0
    return _of(room, sign, propensity(sign, allowed))


def _undrawn(room: _Room) -> Dither:
    return _of(room, 0, 1.0)


def _of(room: _Room, sign: int, probability: float) -> Dither:
    applied, step = room.situation.applied, reach(room.draft, room.limits)
    return Dither(
        block=_block(room),
        offset=sign * room.limits.dither_offset,
        propensity=probability,
        anchor=room.anchor,
        shares=toward(applied, room.shifted(sign), step),
    )


def _block(room: _Room) -> int:
    cycle_s = room.situation.cycle_s
    return block_at(room.situation.now_s, room.limits.dither_cycles * cycle_s, cycle_s)


def _put(room: _Room, shift: Dither) -> Draft:
    """The draft with its shift; where that alone moves traffic, it is a move of its own kind."""
    draft, applied = room.draft, room.situation.applied
    put = replace(draft, target=shift.shares, dither=shift)
    if shift.drawn and shift.offset:
        message = f"{shift.offset:+.3f} in block {shift.block}, drawn with {shift.propensity:.2f}"
        put = noted(put, "dithered", message)
    if draft.course is Course.MOVE or distance(put.target, applied) < NEGLIGIBLE:
        return put
    return replace(put, course=Course.DITHER)


def _supported(room: _Room, shares: Shares) -> bool:
    model = room.situation.model
    if not room.draft.proposal.learned or model is None:
        return True
    low, high = support(model, room.limits)
    return low <= shares[0] <= high
