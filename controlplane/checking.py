"""Joins what health needs: the checkers of this machine, the own observer, the watch over all.

Called by `wiring` and by `observing`. Must know no part of the engine beside health.
"""

from collections.abc import Callable, Mapping, Sequence

from controlplane.adapters.checkers.command import CommandChecker
from controlplane.adapters.checkers.http import HttpChecker
from controlplane.adapters.checkers.tcp import TcpChecker
from controlplane.adapters.envoy.load_reports import Load
from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.judging import ClusterKey
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import CheckKind
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.health.probing import Prober
from controlplane.engine.health.watch import HealthParts, HealthRules, HealthWatch
from controlplane.engine.stages import Instruments
from controlplane.ports.health import Checker, HealthStore
from controlplane.settings import Settings


def checkers(commands: Mapping[str, Sequence[str]]) -> dict[CheckKind, Checker]:
    """Every kind of check.

    Args:
        commands: of this machine, by the name that a fleet gives.
    """
    return {
        CheckKind.HTTP: HttpChecker(),
        CheckKind.TCP: TcpChecker(),
        CheckKind.COMMAND: CommandChecker(commands),
    }


def health_watch(
    settings: Settings, fleets: Fleets, store: HealthStore, instruments: Instruments
) -> HealthWatch:
    """The watch over all endpoints, with probes of its own unless the settings forbid it."""
    limits = settings.health

    def prober(changed: Callable[[EndpointKey], None]) -> Prober:
        own = checkers(settings.health_commands)
        return Prober(own, limits.budget, changed, instruments.now)

    return HealthWatch(
        HealthParts(
            fleets=fleets,
            store=store,
            prober=prober if settings.health_checks == "on" else None,
        ),
        HealthRules(quorum=limits.quorum, passive=limits.passive, budget=limits.budget),
        instruments,
    )


def loads_told(health: HealthWatch, fleets: Fleets) -> Callable[[Load], None]:
    """Takes what Envoys tell of their requests as passive signals."""

    def told(load: Load) -> None:
        named = cluster_named(fleets.current.fleet, load)
        if named is not None:
            health.tell(load.node, named, load.served, load.failed)

    return told


def cluster_named(fleet: Fleet, load: Load) -> ClusterKey | None:
    """The declared cluster of a report; None when there is none (any more).

    A locality names its cluster only where a data centre has several that bear traffic.
    """
    names = [
        cluster.name
        for service in fleet.services
        if service.name == load.service
        for cluster in sorted(service.clusters, key=lambda one: one.standby)
        if cluster.datacenter == load.datacenter
    ]
    if load.cluster in names:
        return load.service, load.datacenter, load.cluster
    if load.cluster or not names:
        return None
    return load.service, load.datacenter, names[0]


def observer_prober(
    commands: Mapping[str, Sequence[str]],
    changed: Callable[[EndpointKey], None],
    now: Callable[[], float],
) -> Prober:
    """The probes of an observer that is a process of its own."""
    return Prober(checkers(commands), ProbeBudget(), changed, now)
