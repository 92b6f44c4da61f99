"""Standing intents over the content of a snapshot: what is published while they stand.

Called by the loop with what it would publish without them. Pure, and rebuilt at each tick, so that
the content without the intent is what it was before it: taking back is exact. In order: a rollback
puts an earlier revision in place, pins replace splits, parts of data centres go, then whole ones,
and limits come last.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.failover.plan import plan
from controlplane.domain.intents import limiting, parts
from controlplane.domain.intents.demands import (
    Down,
    Ground,
    capacities,
    demands,
    nothing_down,
    planned_loads,
    shares_of,
)
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState
from controlplane.domain.intents.presence import Presence, Removal, presence, removals
from controlplane.domain.intents.rooms import with_rooms
from controlplane.domain.intents.sessions import for_service, staying
from controlplane.domain.snapshot import Content, WeightSet, WeightsSection
from controlplane.domain.topology import Fleet
from controlplane.domain.units import to_basis_points


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What is put over a snapshot's content.

    Attributes:
        intents: in any order; those that have ended count for nothing.
        earlier: revision -> its content, of each rollback that stands.
    """

    fleet: Fleet
    intents: tuple[Intent, ...]
    now_s: float
    earlier: Mapping[int, Content] = field(default_factory=dict)
    down: Down = nothing_down


def overlaid(content: Content, over: Overlay) -> Content:
    """The content as it is published; the same object when nothing stands over it."""
    standing = sorted((one for one in over.intents if one.standing), key=lambda one: one.number)
    if not standing:
        return content
    content = _rolled_back(content, standing, over.earlier)
    content = _pinned(content, standing)
    taken = removals(standing, over.now_s)
    content, taken = parts.without(content, taken)
    present = _presences(content, taken)
    content = staying(content, present, taken)
    content = _moved(content, present, over)
    content = limiting.limited(content, standing, _portions(content, present), _closed(present))
    return with_rooms(content, standing)


def leaving(content: Content, intents: Iterable[Intent], now_s: float) -> dict[str, set[str]]:
    """Service -> data centres that its traffic leaves, has left or is to leave."""
    content, taken = parts.without(content, removals(intents, now_s))
    found = _presences(content, taken).items()
    return {
        service: set(one.levels) | ({*_centers(content)[service]} if one.closed else set())
        for service, one in found
        if one.levels or one.closed
    }


def shut(content: Content, over: Overlay) -> frozenset[str]:
    """Services that nobody serves under the intents."""
    standing = sorted((one for one in over.intents if one.standing), key=lambda one: one.number)
    content = _rolled_back(content, standing, over.earlier)
    content, taken = parts.without(content, removals(standing, over.now_s))
    return _closed(_presences(content, taken))


def passed_over(content: Content, intents: Iterable[Intent], now_s: float) -> frozenset[int]:
    """Numbers of the intents that take nothing from anybody, because later ones took the others."""
    content, taken = parts.without(content, removals(intents, now_s))
    found = _presences(content, taken).values()
    passed = frozenset[int]().union(*(one.passed for one in found))
    return passed.difference(*(one.counting for one in found))


def rows_by_service(content: Content) -> dict[str, list[WeightSet]]:
    """Service -> its splits."""
    rows: dict[str, list[WeightSet]] = {}
    for row in content.weights.weights:
        rows.setdefault(row.service, []).append(row)
    return rows


def _rolled_back(
    content: Content, standing: Sequence[Intent], earlier: Mapping[int, Content]
) -> Content:
    for one in reversed(standing):
        in_force = one.kind is IntentKind.ROLLBACK and one.state is IntentState.ACTIVE
        if in_force and one.wanted.revision in earlier:
            return earlier[one.wanted.revision]
    return content


def _pinned(content: Content, standing: Sequence[Intent]) -> Content:
    pins = {
        one.target.service: one.wanted.shares
        for one in standing
        if one.kind is IntentKind.PIN and one.state is IntentState.ACTIVE
    }
    if not pins:
        return content
    rows = (
        replace(row, weights=_pin(row, pins[row.service])) if row.service in pins else row
        for row in content.weights.weights
    )
    return replace(content, weights=WeightsSection(weights=tuple(rows)))


def _pin(row: WeightSet, shares: Iterable[tuple[str, float]]) -> Mapping[str, int]:
    wanted = dict(shares)
    known = {center: wanted.get(center, 0.0) for center in row.weights}
    # A pin on what is no more declared says nothing; the scheduler's split stays.
    return to_basis_points(known) if any(known.values()) else row.weights


def _centers(content: Content) -> dict[str, tuple[str, ...]]:
    """Service -> data centres where it has endpoints that bear traffic."""
    return {
        one.service: tuple(
            dict.fromkeys(c.datacenter for c in one.centers if c.addresses and not c.standby)
        )
        for one in content.endpoints.services
    }


def _presences(content: Content, taken: Sequence[Removal]) -> dict[str, Presence]:
    if not taken:
        return {}
    centers = _centers(content)
    found = {
        one.service: presence(one.service, centers[one.service], for_service(one, taken))
        for one in content.endpoints.services
    }
    return {service: one for service, one in found.items() if one.levels or one.closed}


def _moved(content: Content, present: Mapping[str, Presence], over: Overlay) -> Content:
    gone = {service: one.levels.keys() for service, one in present.items() if one.levels}
    if not gone:
        return content
    inflows = _inflows(content, gone, over)
    rows = tuple(
        replace(row, weights=_row(row.weights, present[row.service].levels, inflows[row.service]))
        if row.service in gone
        else row
        for row in content.weights.weights
    )
    return replace(content, weights=WeightsSection(weights=rows))


def _inflows(
    content: Content, gone: Mapping[str, Collection[str]], over: Overlay
) -> dict[str, Mapping[str, float]]:
    """Service -> where its traffic goes; from the whole way, so that no step of a ramp turns."""
    ground = Ground(
        fleet=over.fleet,
        rows=rows_by_service(content),
        loads=planned_loads(over.intents),
        down=over.down,
    )
    made = plan(demands(ground, gone), capacities(over.fleet))
    found = {one.service: one.inflow for one in made.allocations}
    missing = [name for name in gone if not found.get(name)]
    if missing:
        # Nobody who is well is left: rather to who may be well than to who was taken out.
        blind = plan(demands(replace(ground, down=nothing_down), gone), capacities(over.fleet))
        found |= {one.service: one.inflow for one in blind.allocations if one.service in missing}
    return {name: found.get(name, {}) for name in gone}


def _row(
    weights: Mapping[str, int], levels: Mapping[str, float], inflow: Mapping[str, float]
) -> Mapping[str, int]:
    """One split without what leaves; as it was where nothing leaves or nobody can take it."""
    lost = {
        center: weights[center] * (1.0 - level)
        for center, level in levels.items()
        if weights.get(center, 0) > 0
    }
    amount = sum(lost.values())
    if amount <= 0 or not inflow:
        return weights
    shares = {
        center: weight - lost.get(center, 0.0) + amount * inflow.get(center, 0.0)
        for center, weight in weights.items()
    }
    return to_basis_points({center: max(0.0, share) for center, share in shares.items()})


def _portions(content: Content, present: Mapping[str, Presence]) -> dict[str, float]:
    """Service -> part of its traffic that those bear who are not left."""
    rows = rows_by_service(content)
    return {
        service: math.fsum(
            share
            for center, share in shares_of(rows.get(service, ())).items()
            if center not in one.levels
        )
        for service, one in present.items()
    }


def _closed(present: Mapping[str, Presence]) -> frozenset[str]:
    return frozenset(service for service, one in present.items() if one.closed)
