"""All decisions of one cycle: the services that are due, one after the other.

Pure functions, called by `tick` in a thread. A service on a shared pool is decided with what was
decided before it, the most important class first, so that they do not all run for the same room;
what they make of a pool together is settled at the end. Law 8: one that fails holds its shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.findings import Observation
from controlplane.domain.services import Service, ServiceClass
from controlplane.domain.strategies.situation import ACTIVE_ROLES
from controlplane.engine.deciding.cycle import Facts
from controlplane.engine.deciding.faults import Fault, Step
from controlplane.engine.deciding.pools import PoolBook
from controlplane.engine.deciding.shadow import decided

ORDER = tuple(ServiceClass)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulings:
    """What was decided, who could not be, and which pools are too full all the same."""

    made: list[Decision]
    faults: list[Fault]
    pools: tuple[Observation, ...] = ()


def rule(facts: Facts, triggers: Mapping[str, Trigger]) -> Rulings:
    """Decide every service that has a trigger; of those at fault the shares in force stay."""
    book = PoolBook(facts)
    made: dict[str, Decision] = {}
    faults: list[Fault] = []
    read: dict[str, Facts] = {}
    for service in _due(facts, triggers):
        name = service.name
        read[name] = replace(facts, shared={name: book.shared(name)})
        result = decided(read[name], service, triggers[name])
        if result.decision is not None:
            made[name] = result.decision
            book.settle(result.decision)
        if result.error is not None:
            faults.append(Fault(service=name, step=Step.DECIDE, error=result.error))
    for name, concession in book.concessions().items():
        conceding = replace(read[name], concessions={name: concession})
        result = decided(conceding, facts.fleet.service(name), triggers[name])
        made[name] = result.decision or made[name]
        book.settle(made[name])
    return Rulings(made=list(made.values()), faults=faults, pools=book.overfull())


def bereft(facts: Facts) -> frozenset[str]:
    """Services that lose a data centre with traffic while a reserve of theirs stands by.

    Its part of the traffic goes to the others at once, so they are not left to the next cycle.
    """
    active = {center.name for center in facts.fleet.datacenters if center.role in ACTIVE_ROLES}
    return frozenset(
        service.name
        for service in facts.fleet.services
        if _lost(service, facts.shares.get(service.name, {}))
        and any(c.endpoints and c.datacenter not in active for c in service.centers)
    )


def _lost(service: Service, in_force: Mapping[str, float]) -> bool:
    there = {cluster.datacenter for cluster in service.centers if cluster.endpoints}
    return any(share > 0 and center not in there for center, share in in_force.items())


def _due(facts: Facts, triggers: Mapping[str, Trigger]) -> list[Service]:
    due = (service for service in facts.fleet.services if service.name in triggers)
    return sorted(due, key=lambda service: ORDER.index(service.class_of_service))
