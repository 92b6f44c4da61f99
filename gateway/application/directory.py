"""Who serves what: the configuration in force, and each service's rotation. Safe for threads.

Shared by the asynchronous and the synchronous client; `polling` brings configurations, leases
bring outcomes, `probing` brings probes. Nothing here waits.
"""

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from controlplane.domain.errors import NotFound, Retryable
from controlplane.domain.health.ejection import Event, Limits, State
from controlplane.domain.instances.placement import Instance
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.services import HealthCheck
from controlplane.domain.snapshot import ServiceEndpoints
from gateway.application.last_good import Configuration
from gateway.application.rotation import Rotation, Wish
from gateway.application.tally import Outcome, Tally

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """An instance that must be probed."""

    service: str
    instance: Instance
    check: HealthCheck


class Directory:
    """The client's picture of the fleet."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._configuration: Configuration | None = None
        self._rotations: dict[str, Rotation] = {}
        self.tally = Tally()

    @property
    def revision(self) -> int:
        """Revision in force; 0 before the first."""
        return self._configuration.revision if self._configuration else 0

    def configure(self, configuration: Configuration) -> None:
        """Go by this configuration; services keep what is known about their instances."""
        with self._lock:
            self._configuration = configuration
            known = configuration.services
            self._rotations = {n: r for n, r in self._rotations.items() if n in known}
            for name, rotation in self._rotations.items():
                rotation.update(known[name], configuration.weights.get(name, {}))

    def service(self, name: str) -> ServiceEndpoints:
        """A service of the configuration; NotFound, Retryable before the first."""
        found = self._in_force().services.get(name)
        if found is None:
            raise NotFound("service_not_found", f"service {name} is not in the configuration")
        return found

    @property
    def table(self) -> Table:
        """The routes of the group; Retryable before the first configuration."""
        return self._in_force().table

    def take(self, service: str, wish: Wish) -> Instance:
        """Choose an instance and count the request as in work there.

        Raises:
            NotFound: no such service, or it has no endpoint.
            Retryable: there is no configuration yet.
        """
        with self._lock:
            rotation = self._rotation(service)
            instance = rotation.pick(wish)
            rotation.begin(instance.name)
            return instance

    def give_back(self, service: str, instance: Instance, outcome: Outcome, now_s: float) -> bool:
        """A request is over; whether something must be probed because of it."""
        with self._lock:
            self.tally.add(service, instance, outcome)
            rotation = self._rotations.get(service)
            if rotation is None:
                return False
            rotation.end(instance.name)
            if outcome is Outcome.ABANDONED:
                return False
            event = Event.SERVED if outcome is Outcome.SERVED else Event.FAILED
            self._tell(rotation, instance, event, now_s)
            return bool(rotation.doubtful)

    def probed(self, doubt: Doubt, event: Event, now_s: float) -> Doubt | None:
        """Take the result of a probe; what is left of the doubt, by the configuration in force."""
        with self._lock:
            rotation = self._rotations.get(doubt.service)
            if rotation is None:
                return None
            state = self._tell(rotation, doubt.instance, event, now_s)
            left = state in (State.SUSPECT, State.OUT)
            return _doubt(rotation, doubt.instance.name) if left else None

    def doubts(self) -> tuple[Doubt, ...]:
        """Everybody who must be probed."""
        with self._lock:
            return tuple(
                _doubt(rotation, name)
                for rotation in self._rotations.values()
                for name in rotation.doubtful
            )

    def out(self, service: str) -> frozenset[str]:
        """Names of a service's instances that get no requests."""
        with self._lock:
            rotation = self._rotations.get(service)
            return rotation.out if rotation is not None else frozenset()

    def _tell(
        self, rotation: Rotation, instance: Instance, event: Event, now_s: float
    ) -> State | None:
        was_out = instance.name in rotation.out
        state = rotation.tell(instance.name, event, now_s)
        if state is None or (state is State.OUT) is was_out:
            return state
        service = rotation.service.service
        outcome = Outcome.RETURNED if was_out else Outcome.EJECTED
        self.tally.add(service, instance, outcome)
        log.info(
            "client.instance",
            what=outcome.value,
            service=service,
            instance=instance.name,
            cluster=instance.cluster,
            datacenter=instance.datacenter,
        )
        return state

    def _in_force(self) -> Configuration:
        if self._configuration is None:
            raise Retryable(
                "no_configuration",
                "there is no configuration yet, neither from the control plane nor on disk; "
                "ask again in a moment",
            )
        return self._configuration

    def _rotation(self, service: str) -> Rotation:
        if service not in self._rotations:
            weights: Mapping[str, int] = self._in_force().weights.get(service, {})
            self._rotations[service] = Rotation(
                self.service(service), weights, self._limits, random.getrandbits(32)
            )
        return self._rotations[service]


def _doubt(rotation: Rotation, name: str) -> Doubt:
    service = rotation.service
    return Doubt(
        service=service.service, instance=rotation.instances[name], check=service.health_check
    )
