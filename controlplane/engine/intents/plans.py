"""Plans and forecasts of intents: room, limits of survivors, and what would move.

Called by `intents` for a dry run and for the real thing, so that the forecast is what is done.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from controlplane.domain.failover.plan import Plan, Verdict, plan
from controlplane.domain.failover.sessions import moved_sessions
from controlplane.domain.instances.marking import shunned
from controlplane.domain.intents.demands import (
    Ground,
    as_loads,
    capacities,
    demands,
    pool_key,
    shares_of,
)
from controlplane.domain.intents.grounding import rows_before
from controlplane.domain.intents.intent import (
    Admission,
    Intent,
    IntentKind,
    IntentState,
    Load,
)
from controlplane.domain.intents.overlay import Overlay, leaving, overlaid, rows_by_service, shut
from controlplane.domain.intents.presence import TAKING
from controlplane.domain.intents.rules import LONGEST_RAMP_S
from controlplane.domain.services import StickyMode
from controlplane.domain.snapshot import Content
from controlplane.domain.telemetry import reading
from controlplane.domain.topology import Fleet
from controlplane.engine.intents.facts import Facts, expected_loads
from controlplane.engine.intents.limits import survivors_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What happens to one service.

    Attributes:
        before, after: data centre -> share when everything has moved, 0..1.
        moved: part of its traffic that goes elsewhere, which is that of its users where a user
            stays on an endpoint.
        sessions: open connections at what they leave; None when nobody reports them.
    """

    service: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    moved: float
    sessions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What an intent would do; `moves` only where somebody asks for them, `shut` are services that
    nobody would serve because of it and of what stands."""

    plan: Plan
    loads: tuple[Load, ...]
    limits: tuple[Admission, ...]
    moves: tuple[Move, ...] = ()
    shut: tuple[str, ...] = ()


def forecast(intent: Intent, standing: tuple[Intent, ...], facts: Facts) -> Forecast:
    """What an intent would do beside those that stand, when its ramps are over."""
    loads = expected_loads(facts)
    done = _forced(
        replace(intent, state=IntentState.ACTIVE, active_s=-math.inf, loads=as_loads(loads))
    )
    standing = tuple(_forced(one) for one in standing)
    going = _going(standing, done, facts)
    ground = Ground(
        fleet=facts.fleet,
        rows=rows_by_service(facts.content),
        loads=loads,
        down=facts.down,
    )
    made = plan(demands(ground, going), capacities(facts.fleet))
    if made.nowhere:
        # Rather who is on its way back, at once, than nobody: another one may have died meanwhile.
        left = tuple(one for one in standing if not _returns(one, standing))
        others = _going(left, done, facts)
        going |= {name: others.get(name, set()) for name in made.nowhere}
        made = plan(demands(ground, going), capacities(facts.fleet))
    made = _rated(made, intent, facts)
    touched = _neighbors(facts.fleet, going)
    newly = _shut(facts, (*standing, done)) - _shut(facts, standing)
    if newly:
        nowhere = tuple(sorted({*made.nowhere, *newly}))
        made = replace(made, verdict=Verdict.NOWHERE, nowhere=nowhere)
    return Forecast(
        plan=made,
        shut=tuple(sorted(newly)),
        loads=as_loads({name: rate for name, rate in loads.items() if name in touched}),
        limits=survivors_limits(made, facts) if intent.kind in TAKING else (),
    )


def _rated(made: Plan, intent: Intent, facts: Facts) -> Plan:
    """The plan with what a rate lets through; each gateway has its own."""
    preset = intent.wanted.preset
    if preset is None or preset.rate_rps is None:
        return made
    most_rps = preset.rate_rps * facts.gateways
    return replace(
        made,
        allocations=tuple(
            replace(one, admitted_rps=min(most_rps, one.rate_rps))
            if one.service == intent.target.service and one.rate_rps is not None
            else one
            for one in made.allocations
        ),
    )


def _forced(intent: Intent) -> Intent:
    """Without force it would give way, and nobody would be told what it would close."""
    return replace(intent, wanted=replace(intent.wanted, force=True))


def _shut(facts: Facts, intents: tuple[Intent, ...]) -> frozenset[str]:
    """Services that nobody serves when every ramp is over."""
    done = tuple(
        replace(one, state=IntentState.ACTIVE, active_s=-math.inf)
        if one.state is IntentState.PREPARING
        else one
        for one in intents
    )
    over = Overlay(
        fleet=facts.fleet,
        intents=done,
        now_s=facts.now_s + 2 * LONGEST_RAMP_S,
        earlier=facts.earlier,
    )
    return shut(facts.content, over)


def moves(intent: Intent, standing: tuple[Intent, ...], facts: Facts) -> tuple[Move, ...]:
    """What happens to each service whose split an intent changes, when its ramps are over."""
    loads = as_loads(expected_loads(facts))
    done = replace(intent, state=IntentState.ACTIVE, active_s=-math.inf, loads=loads)
    return _moves(standing, done, facts)


def _neighbors(fleet: Fleet, going: Collection[str]) -> set[str]:
    """Services that go, and those on the same machines: what is planned anew at each tick must
    count with the same loads."""
    keys = {one.name: {pool_key(one, cluster) for cluster in one.centers} for one in fleet.services}
    pools = set().union(*(keys[name] for name in going if name in keys))
    return {name for name, own in keys.items() if not own.isdisjoint(pools)}


def _going(standing: tuple[Intent, ...], done: Intent, facts: Facts) -> dict[str, set[str]]:
    """Service -> data centres that its traffic leaves; what is asked never displaces what stands,
    or nobody would seem to be left out."""
    if done.kind not in TAKING:
        return leaving(facts.content, (*standing, done), facts.now_s)
    found = leaving(facts.content, standing, facts.now_s)
    # The last part of a data centre is the data centre: what has gone of it before counts.
    parts = tuple(one for one in standing if _is_part(one) or one.kind is IntentKind.RESTORE)
    well = shunned(facts.content, facts.out)
    for service, centers in leaving(well, (*parts, done), facts.now_s).items():
        found[service] = found.get(service, set()) | centers
    return found


def _is_part(intent: Intent) -> bool:
    return intent.kind in TAKING and bool(intent.target.cluster or intent.target.endpoint)


def _returns(intent: Intent, standing: tuple[Intent, ...]) -> bool:
    return intent.state is IntentState.RETURNING or any(
        one.kind is IntentKind.RESTORE
        and one.number > intent.number
        and one.target.covers(intent.target)
        for one in standing
    )


def planned(intent: Intent, made: Forecast, content: Content) -> Intent:
    """The intent with what its plan counted with, and the splits as they are without it."""
    return replace(
        intent,
        before=rows_before(intent.wanted, content),
        loads=made.loads,
        joining=made.plan.joining,
        limits=made.limits,
    )


def _moves(standing: tuple[Intent, ...], done: Intent, facts: Facts) -> tuple[Move, ...]:
    now = Overlay(
        fleet=facts.fleet,
        intents=standing,
        now_s=facts.now_s,
        earlier=facts.earlier,
        down=facts.down,
    )
    before = rows_by_service(overlaid(facts.content, now))
    after = rows_by_service(overlaid(facts.content, replace(now, intents=(*standing, done))))
    return tuple(
        _move(service, shares_of(rows), shares_of(after.get(service, ())), facts)
        for service, rows in before.items()
        if rows != after.get(service)
    )


def _move(
    service: str, before: Mapping[str, float], after: Mapping[str, float], facts: Facts
) -> Move:
    lost = {name: share - after.get(name, 0.0) for name, share in before.items()}
    leaving_parts = {name: part for name, part in lost.items() if part > 0}
    window = facts.window(service)
    sessions = []
    for name, part in leaving_parts.items():
        newest = window.latest(name)
        count = math.nan if newest is None else reading(newest, "connections")
        sessions.append(count * part / before[name])
    total = math.fsum(sessions)
    # How long a drain keeps them says when they move, not how many.
    moved = moved_sessions(before, after, StickyMode.HASH)
    return Move(
        service=service,
        before=before,
        after=after,
        moved=moved.on_the_way,
        sessions=round(total) if sessions and math.isfinite(total) else None,
    )
