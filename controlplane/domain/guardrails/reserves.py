"""Reserves: disaster-recovery and cloud centres, which stand at 0 until they are needed.

`mustered` says who bears traffic from now on; every strategy and guard reads it from the
situation. A reserve with a share in force has joined, so nothing is remembered: the same facts
and shares give the same answer after a restart. `called` carries the answer into the envelope.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from controlplane.domain.guardrails.capacity import level, peak
from controlplane.domain.guardrails.draft import NEGLIGIBLE, Course, Draft
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.projection import UseByShare, use_by_share
from controlplane.domain.strategies.regional_load import center_loads
from controlplane.domain.strategies.rules import max_known
from controlplane.domain.strategies.situation import Muster, Note, Situation
from controlplane.domain.topology import ROLE_ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roll:
    """Indices of centres: active ones with endpoints, reserves in joining order, joined ones."""

    situation: Situation
    limits: EnvelopeLimits
    use: UseByShare
    active: tuple[int, ...]
    reserves: tuple[int, ...]
    joined: tuple[int, ...]
    lost: int


def mustered(situation: Situation, limits: EnvelopeLimits) -> Situation:
    """The situation with its muster: who bears traffic, which reserve joins, which leaves.

    Reserves join in the fleet's order while the best split of those that serve is above the hot
    level, or while fewer have joined than active centres have lost their endpoints. The last one
    leaves when the best split of the others is below the leave level. Old metrics of an active
    centre change nothing. A declared ratio (`static`) is an operator's word: nobody joins it.
    """
    roll = _roll(situation, limits)
    if not roll.active or not roll.reserves or situation.service.strategy is StrategyName.STATIC:
        return situation
    serving = [*roll.active, *roll.joined]
    if not roll.joined and not roll.lost and _calm(roll):
        return situation
    joining = _joining(roll, serving) if _informed(situation, limits, roll) else ()
    leaving = () if joining else _leaving(roll)
    kept = {*serving, *joining}.difference(leaving)
    muster = Muster(
        bearing=_flags(situation, kept),
        joining=_names(situation, joining),
        leaving=_names(situation, leaving),
        notes=(*_joining_notes(roll, serving, joining), *_leaving_notes(roll, kept, leaving)),
    )
    return replace(situation, muster=muster)


def called(draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits) -> Draft:
    """Let reserves join and leave whatever the strategy proposes; a join is as urgent as heat."""
    muster = situation.muster
    if draft.course not in (Course.MOVE, Course.HOLD) or not muster.changing:
        return draft
    # From a hold the bounds make the move: the least share of who joins, none of who leaves.
    return replace(
        draft,
        course=Course.MOVE,
        hot=draft.hot or bool(muster.joining),
        hot_now=draft.hot_now or bool(muster.joining),
        notes=(*draft.notes, *muster.notes),
    )


def _roll(situation: Situation, limits: EnvelopeLimits) -> _Roll:
    centers = list(enumerate(situation.centers))
    order = {role: position for position, role in enumerate(ROLE_ORDER)}
    reserves = [i for i, center in centers if not center.active and center.cluster.endpoints]
    reserves.sort(key=lambda i: (order[situation.centers[i].datacenter.role], i))
    return _Roll(
        situation=situation,
        limits=limits,
        use=_use(situation, limits),
        active=tuple(i for i, center in centers if center.active),
        reserves=tuple(reserves),
        joined=tuple(i for i in reserves if situation.applied[i] >= NEGLIGIBLE),
        lost=sum(center.serves and not center.cluster.endpoints for _, center in centers),
    )


def _use(situation: Situation, limits: EnvelopeLimits) -> UseByShare:
    """Utilisation of the machines; of a regional service its load too, hot where it is critical."""
    use = use_by_share(situation)
    loads = center_loads(situation) if situation.regions else ()
    if isinstance(loads, Note) or not loads:
        return use
    total = math.fsum(one.rate for one in loads)
    hot = limits.hot_level / situation.service.regional.critical_load
    pairs = list(zip(use.per_share, use.standing, loads, strict=True))
    return UseByShare(
        per_share=tuple(max_known((u, hot * one.per_rate * total)) for u, _, one in pairs),
        standing=tuple(max_known((s, hot * one.standing)) for _, s, one in pairs),
    )


def _informed(situation: Situation, limits: EnvelopeLimits, roll: _Roll) -> bool:
    """Whether every active centre reports, so that its load may be judged."""
    ages = [situation.window.age_s(situation.centers[i].name, situation.now_s) for i in roll.active]
    return max(ages) <= limits.fresh_s


def _calm(roll: _Roll) -> bool:
    """Whether nobody is hot as it is; what is unknown is not calm."""
    applied = roll.situation.applied
    known = all(roll.use.known(i) for i, share in enumerate(applied) if share > 0)
    return known and peak(roll.use, applied) <= roll.limits.hot_level


def _joining(roll: _Roll, serving: list[int]) -> tuple[int, ...]:
    """The next reserves, as many as are needed; one whose use cannot be known is passed over."""
    able = [i for i in roll.reserves if i not in roll.joined and roll.use.known(i)]
    chosen: list[int] = []
    for reserve in able:
        short = len(roll.joined) + len(chosen) < roll.lost
        if not short and not _best(roll, {*serving, *chosen}) > roll.limits.hot_level:
            break
        chosen.append(reserve)
    return tuple(chosen)


def _leaving(roll: _Roll) -> tuple[int, ...]:
    """The reserve that joined last, when the others can do without it."""
    if len(roll.joined) <= roll.lost or not roll.joined:
        return ()
    *others, last = roll.joined
    calm = _best(roll, {*roll.active, *others}) < roll.limits.leave_level
    return (last,) if calm else ()


def _best(roll: _Roll, bearing: Collection[int]) -> float:
    """Smallest peak utilisation of these centres within their bounds; NaN when unknown."""
    facts = replace(roll.situation, muster=Muster(bearing=_flags(roll.situation, bearing)))
    if not all(roll.use.known(i) for i in bearing):
        return math.nan
    return peak(roll.use, level(roll.use, facts, roll.limits))


def _joining_notes(roll: _Roll, serving: list[int], joining: tuple[int, ...]) -> list[Note]:
    if not joining:
        return []
    reason = f"{roll.lost} active data centre(s) without endpoints"
    if not roll.lost:
        best = _best(roll, serving)
        reason = f"{best:.3f} utilisation with the best split, hot is {roll.limits.hot_level:g}"
    names = ", ".join(_names(roll.situation, joining))
    return [Note(code="reserve_joins", message=f"{names}: {reason}")]


def _leaving_notes(roll: _Roll, kept: set[int], leaving: tuple[int, ...]) -> list[Note]:
    if not leaving:
        return []
    names = ", ".join(_names(roll.situation, leaving))
    best, limit = _best(roll, kept), roll.limits.leave_level
    message = f"{names}: {best:.3f} utilisation without it, below {limit:g}"
    return [Note(code="reserve_leaves", message=message)]


def _flags(situation: Situation, bearing: Collection[int]) -> tuple[bool, ...]:
    return tuple(index in bearing for index in range(len(situation.centers)))


def _names(situation: Situation, indices: Collection[int]) -> tuple[str, ...]:
    return tuple(situation.centers[index].name for index in indices)
