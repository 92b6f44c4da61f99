"""Suspicion: holds what is not taken for true, reports it, and lets an operator force it.

Owned by `intake`, which asks it about each well-formed sample and keeps the samples that
it doubts out of the windows. The loop reads what stands: the weights of a service that is under
suspicion hold. The judgments themselves are pure (`domain.suspicion`).
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from controlplane.domain.errors import Conflict, NotFound, Refused
from controlplane.domain.findings import Finding, Observation, Source
from controlplane.domain.services import Service
from controlplane.domain.strategies.situation import ACTIVE_ROLES
from controlplane.domain.suspicion.doubt import FORCIBLE, Suspicion, observed
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.metrics import judge, stopped
from controlplane.domain.suspicion.past import Past
from controlplane.domain.suspicion.shares import shares_exchanged
from controlplane.domain.telemetry import Sample, ServiceWindow, of_centers
from controlplane.domain.topology import resolved
from controlplane.engine.cadence import Cadence
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import SharesInForce
from controlplane.engine.samples.doubts import Doubts, Force
from controlplane.engine.stages import Instruments
from controlplane.engine.turns import Turns

# Looked at before others get a turn: some 10 ms.
AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspicionRules:
    """The limits, and the time constants of the loop and the envelope that they follow."""

    limits: SuspicionLimits = field(default_factory=SuspicionLimits)
    cadence: Cadence = field(default_factory=Cadence)
    fresh_s: float = 120.0


class Suspicions:
    """All standing suspicions about metrics.

    `forcing` is held by whoever takes an operator's word.

    Args:
        fleets: what is declared; a service that is not has no suspicions.
        publication: the shares in force; None knows none.
    """

    def __init__(
        self,
        fleets: Fleets,
        publication: Publication | None,
        rules: SuspicionRules,
        instruments: Instruments,
    ) -> None:
        self._fleets = fleets
        self._shares = SharesInForce(publication, instruments.now)
        self._rules = rules
        self._now = instruments.now
        self._findings = instruments.findings
        self._services: dict[str, Doubts] = {}
        self.forcing = Turns()

    @property
    def cadence(self) -> Cadence:
        """The time constants that the rules follow."""
        return self._rules.cadence

    def newest(self, service: str, datacenter: str) -> Sample | None:
        """The newest sample, trusted or not; None before the first."""
        known = self._services.get(service)
        return None if known is None else known.newest.get(datacenter)

    def standing(self, service: str) -> tuple[Observation, ...]:
        """What is suspicious about a service now; its weights hold meanwhile."""
        known = self._services.get(service)
        return () if known is None else _observations(service, known)

    def judge(self, sample: Sample, window: ServiceWindow) -> Suspicion | None:
        """The first doubt about a sample that nobody has forced; None takes it for true.

        Args:
            window: the trusted samples before it.
        """
        known = self._known(sample.service, sample.received_s)
        declared = self._fleets.current.fleet.service(sample.service)
        doubts = judge(sample, self._past(declared, window, known), self._rules.limits)
        known.settle(sample, {doubt.doubt for doubt in doubts})
        now_s = self._now()
        found = next((doubt for doubt in doubts if not known.is_forced(doubt, now_s)), None)
        if found is None:
            known.trust(sample)
        else:
            known.hold(sample, found)
        return found

    def refused(self, service: str, datacenter: str, message: str) -> None:
        """A sample cannot be a fact: told until a good one comes, if its subject is declared."""
        try:
            self._fleets.current.fleet.service(service).cluster(datacenter)
        except NotFound:
            return
        now_s = self._now()
        self._known(service, now_s).refuse(datacenter, message, now_s)

    def restored(self, service: str, samples: Sequence[Sample]) -> None:
        """Take up what was stored before a restart, by time."""
        if samples:
            self._known(service, samples[0].received_s).restore(samples)

    def silent(self, service: str, heard_s: float) -> None:
        """A service was heard, but so long before a restart that no window has it."""
        self._known(service, heard_s)

    def turn_back(self, now_s: float) -> None:
        """The clock was set back: nothing was heard, and nothing moved, after now."""
        self._shares.turn_back(now_s)
        for known in self._services.values():
            known.turn_back(now_s)

    def report(self, services: Iterable[str]) -> None:
        """Tell the findings what stands for these services, and thereby what no longer does."""
        for service in services:
            self._findings.report(Source.METRICS, self.standing(service), scope=service)

    async def look(self, window: Callable[[str], ServiceWindow]) -> None:
        """Judge what no sample tells: silence, and loads that match exchanged shares."""
        self._fleets.look()
        declared = self._fleets.current.fleet.services
        for gone in self._services.keys() - {service.name for service in declared}:
            del self._services[gone]
            self.report([gone])
        for number, service in enumerate(declared):
            if known := self._services.get(service.name):
                self._look_at(service, window(service.name), known)
                self.report([service.name])
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)

    def held(self, finding: Finding) -> tuple[Sample, ...]:
        """Samples that a finding holds back, by time.

        Raises:
            Conflict: the finding is over.
            Refused: it is none that can be forced here.
        """
        suspicion, service = self._suspicion(finding)
        known = self._services[service]
        return tuple(one for name in suspicion.centers for one in known.held.get(name, ()))

    def force(self, finding: Finding) -> tuple[Sample, ...]:
        """Take for true what is held for a finding; the samples to take in. Raises as `held`."""
        suspicion, service = self._suspicion(finding)
        until_s = self._now() + self._rules.limits.memory_s
        force = Force(finding=finding.id, until_s=until_s)
        released = self._services[service].force(suspicion, force)
        self.report([service])
        return released

    def is_forced(self, finding: Finding) -> bool:
        """Whether somebody's word on it still counts."""
        now_s = self._now()
        return any(
            force.finding == finding.id and force.until_s > now_s
            for known in self._services.values()
            for force in known.forces.values()
        )

    def _suspicion(self, finding: Finding) -> tuple[Suspicion, str]:
        what = finding.observation
        if finding.source is not Source.METRICS or what.code not in FORCIBLE:
            raise Refused(
                "finding_not_forcible",
                f"{what.code} cannot be forced here: {what.force or 'repair what it names'}",
                {"finding": finding.id},
            )
        service = what.subject.split()[0].removeprefix("service/")
        known = self._services.get(service)
        for suspicion in () if known is None else known.standing():
            if observed(service, suspicion).subject == what.subject and (
                suspicion.doubt == what.code
            ):
                return suspicion, service
        raise Conflict(
            "finding_over", f"finding {finding.id} is over: nothing is held because of it"
        )

    def _known(self, service: str, heard_s: float) -> Doubts:
        known = self._services.get(service)
        if known is None:
            known = self._services[service] = Doubts(heard_s=heard_s)
        return known

    def _past(self, service: Service, window: ServiceWindow, known: Doubts) -> Past:
        cadence = self._rules.cadence
        shares, moved_s = self._shares.of(service.name)
        own = {cluster.datacenter for cluster in service.centers}
        return Past(
            service=resolved(self._fleets.current.fleet, service),
            trusted=of_centers(window, own).samples,
            newest={name: one for name, one in known.newest.items() if name in own},
            shares=shares,
            moved_s=moved_s,
            earlier=self._shares.earlier(service.name),
            period_s=cadence.period_s,
            window_s=cadence.window_s,
        )

    def _look_at(self, service: Service, window: ServiceWindow, known: Doubts) -> None:
        past = self._past(service, window, known)
        now_s, fresh_s = self._now(), self._rules.fresh_s
        received_s = known.received_s()
        declared = {cluster.datacenter for cluster in service.centers}
        here = {name: time_s for name, time_s in received_s.items() if name in declared}
        known.forget(here, now_s - fresh_s)
        found = stopped(self._expected_s(service, past, known), now_s, fresh_s)
        # Loads of different times tell nothing about shares.
        found = found or shares_exchanged(past, self._rules.limits)
        known.looked = tuple(one for one in found if not known.is_forced(one, now_s))

    def _expected_s(self, service: Service, past: Past, known: Doubts) -> dict[str, float]:
        """Data centres that should send -> when they last did, or when the service was first heard.

        Those that bear traffic, now or in normal times. A reserve had nothing to report before it
        joined: its silence counts from the last move.
        """
        roles = {center.name: center.role for center in self._fleets.current.fleet.datacenters}
        received_s = known.received_s()
        expected: dict[str, float] = {}
        for cluster in service.centers:
            name = cluster.datacenter
            active = roles.get(name) in ACTIVE_ROLES
            if (active and cluster.endpoints) or past.shares.get(name, 0.0) > 0:
                last_s = received_s.get(name, known.heard_s)
                expected[name] = last_s if active else max(last_s, past.moved_s)
        return expected


def _observations(service: str, known: Doubts) -> tuple[Observation, ...]:
    return tuple(observed(service, suspicion) for suspicion in known.standing())
