"""Judges a change of the fleet against what is in force: law 4, missing is not zero.

A file that lost most of its lines, or that sends most of the traffic elsewhere at once, is more
often a mistake than a wish. Called by `engine.fleet.fleets` before a change is stored.
"""

import statistics
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from controlplane.domain.routing.route import Route
from controlplane.domain.services import Cluster, Service, StrategyName
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet, Role, resolved

# Service -> data centre -> share in force.
Shares = Mapping[str, Mapping[str, float]]

FORCE = "signalbox apply --force, or force=true"
# A data centre of these roles bears traffic in normal times.
BEARING = frozenset({Role.PRIMARY, Role.SAME_CITY})
DECLARED = frozenset({StrategyName.STATIC, StrategyName.CAPACITY})


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDoubt:
    """Why a change is refused unless forced; `items` are what it removes or moves, sorted."""

    code: str
    message: str
    items: tuple[str, ...]
    limit: float


def doubt_of(
    before: Fleet, after: Fleet, shares: Shares, limits: SuspicionLimits
) -> FleetDoubt | None:
    """The first thing that makes a change suspicious; None is trust.

    Args:
        shares: in force; {} for services that are not published.
    """
    return (
        _removal(before, after, limits)
        or _rewriting(before, after, limits)
        or _move(before, after, shares, limits)
    )


def _removal(before: Fleet, after: Fleet, limits: SuspicionLimits) -> FleetDoubt | None:
    """Each kind on its own, endpoints counted one by one."""
    there, kept = _members(before), _members(after)
    for kind, members in there.items():
        removed = sorted(members - kept[kind])
        if members and len(removed) / len(members) > limits.most_removed:
            return FleetDoubt(
                code="mass_removal",
                message=f"this removes {len(removed)} of {len(members)} {kind}, more than "
                f"{limits.most_removed:.0%}: check the file, or force it",
                items=tuple(removed),
                limit=limits.most_removed,
            )
    return None


def _rewriting(before: Fleet, after: Fleet, limits: SuspicionLimits) -> FleetDoubt | None:
    """Routes that are removed or become others; a few are what an author has in his head."""
    kept = {route.id: _effect(route) for route in after.routes}
    changed = [route.id for route in before.routes if kept.get(route.id) != _effect(route)]
    few = len(changed) < limits.few_routes
    if few or len(changed) / len(before.routes) <= limits.most_changed:
        return None
    return FleetDoubt(
        code="mass_change",
        message=f"this changes or removes {len(changed)} of {len(before.routes)} routes, more than "
        f"{limits.most_changed:.0%}: check the file, go in steps, or force it",
        items=tuple(changed),
        limit=limits.most_changed,
    )


def _effect(route: Route) -> Route:
    """A route without what no request notices."""
    return replace(route, labels=(), checks=()) if route.labels or route.checks else route


def _move(
    before: Fleet, after: Fleet, shares: Shares, limits: SuspicionLimits
) -> FleetDoubt | None:
    """Half the sum of the differences of the shares, averaged over the services in both."""
    moves = dict(_moves(before, after, shares))
    moved = statistics.fmean(moves.values()) if moves else 0.0
    if moved <= limits.most_moved:
        return None
    return FleetDoubt(
        code="mass_move",
        message=f"this moves {moved:.0%} of the traffic to other data centres, more than "
        f"{limits.most_moved:.0%}: check roles, endpoints and static shares, go in steps, or "
        "force it",
        items=tuple(f"{name} {part:.0%}" for name, part in sorted(moves.items()) if part > 0),
        limit=limits.most_moved,
    )


def _moves(before: Fleet, after: Fleet, shares: Shares) -> Iterator[tuple[str, float]]:
    earlier = {service.name: service for service in before.services}
    active = {c.name for fleet in (before, after) for c in fleet.datacenters if c.role in BEARING}
    reserves = {center.name for center in before.datacenters} - active
    for service in after.services:
        if service.name in earlier:
            in_force = shares.get(service.name, {})
            joined = {name for name in reserves if in_force.get(name, 0.0) > 0}
            start = _destination(before, earlier[service.name], in_force, joined)
            end = _destination(after, service, in_force, joined)
            names = {*start, *end}
            yield service.name, sum(abs(start.get(n, 0) - end.get(n, 0)) for n in names) / 2


def _destination(
    fleet: Fleet, service: Service, in_force: Mapping[str, float], joined: Collection[str]
) -> dict[str, float]:
    """Where a fleet sends a service's traffic, given the shares in force; {} without endpoints.

    A declared strategy sends it where it is declared to go, the others leave it where it is, as
    far as a data centre with endpoints and a bearing role is there, or a reserve that has joined.
    """
    usable = _bearing(fleet, service, joined)
    by_capacity = {cluster.datacenter: cluster.capacity_rps for cluster in usable}
    declared = dict(service.static_shares)
    sources = (in_force, declared, by_capacity)
    if service.strategy in DECLARED:
        sources = (declared, by_capacity, {})
        if service.strategy is StrategyName.CAPACITY:
            sources = (by_capacity, {}, {})
    for source in sources:
        shares = {name: source.get(name, 0.0) for name in by_capacity}
        if (total := sum(shares.values())) > 0:
            return {name: share / total for name, share in shares.items()}
    return {}


def _bearing(fleet: Fleet, service: Service, joined: Collection[str]) -> list[Cluster]:
    """Clusters with endpoints where traffic is borne; all with endpoints where none is."""
    roles = {center.name: center.role for center in fleet.datacenters}
    there = [cluster for cluster in resolved(fleet, service).clusters if cluster.endpoints]
    bearing = {name for name, role in roles.items() if role in BEARING} | {*joined}
    return [cluster for cluster in there if cluster.datacenter in bearing] or there


def _members(fleet: Fleet) -> dict[str, set[str]]:
    return {
        "data centers": {center.name for center in fleet.datacenters},
        "pools": {pool.name for pool in fleet.pools},
        "services": {service.name for service in fleet.services},
        "gateways": {gateway.name for gateway in fleet.gateways},
        "routes": {route.id for route in fleet.routes},
        "whitelists": {whitelist.id for whitelist in fleet.whitelists},
        "L4 routes": {route.id for route in fleet.l4_routes},
        "caller policies": {policy.name for policy in fleet.callers},
        "consumers": {consumer.name for consumer in fleet.consumers},
        "certificates": {certificate.name for certificate in fleet.certificates},
        "zones": {zone.name for zone in fleet.zones},
        "policies": {policy.name for policy in fleet.policies},
        "metric sources": {source.name for source in fleet.metric_sources},
        "endpoints": {
            f"{service.name} {cluster.datacenter} {endpoint.address}:{endpoint.port}"
            for service in fleet.services
            for cluster in service.clusters
            for endpoint in cluster.endpoints
        },
    }
