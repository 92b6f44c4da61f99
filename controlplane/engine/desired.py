"""The whole desired state of one cycle: the fleet, with new decisions over the shares in force.

Pure functions, called by `loop` in a thread. A service that cannot be built is a fault of that
service: it keeps the part that is published, everything else ships (laws 4 and 8).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controlplane.domain import snapshot as snapshots
from controlplane.domain.decisions import Decision, split_of
from controlplane.domain.errors import Invalid
from controlplane.domain.snapshot import (
    Content,
    EndpointsSection,
    Snapshot,
    WeightsSection,
)
from controlplane.domain.topology import Fleet
from controlplane.domain.units import BASIS_POINTS
from controlplane.engine.cycle import Facts, applied_shares
from controlplane.engine.faults import Fault, Step

Shares = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What should be published, and which services are not in it as declared."""

    snapshot: Snapshot
    faults: tuple[Fault, ...] = ()


def published_shares(snapshot: Snapshot | None) -> dict[str, dict[str, float]]:
    """Service -> data centre -> share, as published; {} before the first snapshot."""
    if snapshot is None:
        return {}
    return {
        weight_set.service: {
            center: weight / BASIS_POINTS for center, weight in weight_set.weights.items()
        }
        for weight_set in snapshot.content.weights.weights
    }


def desired(facts: Facts, made: Iterable[Decision], published: Snapshot | None) -> Desired:
    """The snapshot that the facts ask for; of a service that is at fault, what is published."""
    shares = _shares(facts, made)
    try:
        return Desired(snapshot=snapshots.build(facts.fleet, shares))
    except Invalid:
        return _without_faulty(facts.fleet, shares, published)


def _shares(facts: Facts, made: Iterable[Decision]) -> dict[str, dict[str, float]]:
    in_force = {
        **facts.shares,
        **{decision.service: split_of(decision).shares for decision in made},
    }
    shares: dict[str, dict[str, float]] = {}
    for service in facts.fleet.services:
        centers = (cluster.datacenter for cluster in service.clusters)
        applied = applied_shares(facts.fleet, service, in_force.get(service.name, {}))
        shares[service.name] = dict(zip(centers, applied, strict=True))
    return shares


def _without_faulty(fleet: Fleet, shares: Shares, published: Snapshot | None) -> Desired:
    faults = tuple(_faults(fleet, shares))
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
    content = snapshots.build(sound, shares).content
    endpoints = sorted((*content.endpoints.services, *kept), key=lambda part: part.service)
    weights = [part for part in earlier.weights.weights if part.service in faulty]
    weights = sorted((*content.weights.weights, *weights), key=lambda part: part.service)
    whole = replace(
        content,
        endpoints=EndpointsSection(services=tuple(endpoints)),
        weights=WeightsSection(weights=tuple(weights)),
    )
    return Desired(snapshot=snapshots.assemble(whole), faults=faults)


def _faults(fleet: Fleet, shares: Shares) -> Iterable[Fault]:
    for service in fleet.services:
        try:
            snapshots.build(Fleet(datacenters=fleet.datacenters, services=(service,)), shares)
        except Invalid as error:
            yield Fault(service=service.name, step=Step.BUILD, error=error)
