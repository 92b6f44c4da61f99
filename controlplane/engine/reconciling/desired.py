"""The whole desired state of one cycle: the fleet, with new decisions over the shares in force.

Pure functions, called by `tick` in a thread. A service that cannot be built is a fault of that
service: it keeps the part that is published, everything else ships (laws 4 and 8).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controlplane.domain import snapshot as snapshots
from controlplane.domain.decisions import Decision, split_of
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.life.in_force import in_force
from controlplane.domain.services import StrategyName
from controlplane.domain.snapshot import (
    Content,
    EndpointsSection,
    Snapshot,
    WeightsSection,
)
from controlplane.domain.topology import EVERYWHERE, Fleet, RegionShares
from controlplane.engine.deciding.cycle import Facts, applied_shares, rows_in_force
from controlplane.engine.deciding.faults import Fault, Step

Shares = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What should be published, and which services are not in it as declared."""

    snapshot: Snapshot
    faults: tuple[Fault, ...] = ()


def desired(facts: Facts, made: Iterable[Decision], published: Snapshot | None) -> Desired:
    """The snapshot that the facts ask for; of a service that is at fault, what is published."""
    decisions = {decision.service: decision for decision in made}
    wanted = _Splits(shares=_shares(facts, decisions), regions=_regions(facts, decisions))
    fleet = _at(facts.fleet, facts.now_s)
    try:
        return Desired(snapshot=wanted.build(fleet))
    except Invalid:
        return _without_faulty(fleet, wanted, published)


def _at(fleet: Fleet, now_s: float) -> Fleet:
    """The fleet with the routes that are in force at a time."""
    groups = [group.name for group in fleet.gateways]
    return replace(fleet, routes=in_force(fleet.routes, fleet.releases, groups, now_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Splits:
    """What services should have: a split each, and where they have them one for each region."""

    shares: Shares
    regions: Mapping[str, RegionShares]

    def build(self, fleet: Fleet) -> Snapshot:
        """The snapshot of a fleet with these."""
        everywhere = {name: regions[EVERYWHERE] for name, regions in self.regions.items()}
        named = {
            name: {region: split for region, split in regions.items() if region != EVERYWHERE}
            for name, regions in self.regions.items()
        }
        return build(fleet, {**self.shares, **everywhere}, named)


def _regions(facts: Facts, made: Mapping[str, Decision]) -> dict[str, RegionShares]:
    """Those of a service that is not decided now are in force, as far as they lead somewhere."""
    found: dict[str, RegionShares] = {}
    for service in facts.fleet.services:
        if service.strategy is not StrategyName.REGIONAL:
            continue
        decision = made.get(service.name)
        rows = (
            [(one.name, one.shares) for one in rows_in_force(facts, service)]
            if decision is None
            else [(one.region, one.decided) for one in decision.regions]
        )
        centers = [cluster.datacenter for cluster in service.centers]
        found[service.name] = {region: dict(zip(centers, row, strict=True)) for region, row in rows}
    return found


def _shares(facts: Facts, made: Mapping[str, Decision]) -> dict[str, dict[str, float]]:
    in_force = {
        **facts.shares,
        **{name: split_of(decision).shares for name, decision in made.items()},
    }
    shares: dict[str, dict[str, float]] = {}
    for service in facts.fleet.services:
        centers = (cluster.datacenter for cluster in service.centers)
        applied = applied_shares(facts.fleet, service, in_force.get(service.name, {}))
        shares[service.name] = dict(zip(centers, applied, strict=True))
    return shares


def _without_faulty(fleet: Fleet, wanted: _Splits, published: Snapshot | None) -> Desired:
    faults = tuple(_faults(fleet, wanted))
    faulty = {fault.service for fault in faults}
    earlier = Content() if published is None else published.content
    kept = [part for part in earlier.endpoints.services if part.service in faulty]
    # Before its first snapshot a service has nothing to keep; a route to it would lead nowhere.
    absent = faulty - {part.service for part in kept}
    sound = replace(
        fleet,
        services=tuple(service for service in fleet.services if service.name not in faulty),
        routes=tuple(route for route in fleet.routes if route.service not in absent),
    )
    content = wanted.build(sound).content
    endpoints = sorted((*content.endpoints.services, *kept), key=lambda part: part.service)
    weights = [part for part in earlier.weights.weights if part.service in faulty]
    weights = sorted((*content.weights.weights, *weights), key=lambda part: part.service)
    whole = replace(
        content,
        endpoints=EndpointsSection(services=tuple(endpoints)),
        weights=WeightsSection(weights=tuple(weights)),
    )
    return Desired(snapshot=snapshots.assemble(whole), faults=faults)


def _faults(fleet: Fleet, wanted: _Splits) -> Iterable[Fault]:
    for service in fleet.services:
        try:
            wanted.build(Fleet(datacenters=fleet.datacenters, services=(service,)))
        except Invalid as error:
            yield Fault(service=service.name, step=Step.BUILD, error=error)
