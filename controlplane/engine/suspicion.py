"""Suspicion: holds what is not taken for true, reports it, and lets an operator force it.

Owned by `engine.intake`, which asks it about each well-formed sample and keeps the samples that
it doubts out of the windows. The loop reads what stands: the weights of a service that is under
suspicion hold. The judgments themselves are pure (`domain.suspicion`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from controlplane.domain.errors import Conflict, NotFound, Refused
from controlplane.domain.findings import Finding, Observation, Source
from controlplane.domain.strategies.situation import ACTIVE_ROLES
from controlplane.domain.suspicion.doubt import FORCIBLE, Doubt, Suspicion, observed
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.metrics import judge, stopped
from controlplane.domain.suspicion.past import Past
from controlplane.domain.suspicion.shares import shares_exchanged
from controlplane.domain.telemetry import Sample, ServiceWindow
from controlplane.domain.topology import Service, resolved
from controlplane.engine.cadence import Cadence
from controlplane.engine.fleets import Fleets
from controlplane.engine.publication import Publication
from controlplane.engine.shares import SharesInForce
from controlplane.engine.stages import Instruments

# Held samples per data centre that a force takes in: the window of an hour and some more.
MOST_HELD = 100
# Good samples in a row after which a force has done its work.
SETTLED = 3
# Looked at before others get a turn: some 10 ms.
AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspicionRules:
    """The limits, and the time constants of the loop and the envelope that they follow."""

    limits: SuspicionLimits = field(default_factory=SuspicionLimits)
    cadence: Cadence = field(default_factory=Cadence)
    fresh_s: float = 120.0


@dataclass(slots=True)
class _Force:
    """An operator's word on one doubt about one data centre."""

    finding: str
    until_s: float
    good: int = 0


@dataclass(slots=True)
class _Known:
    """What is known of one service; `held` are its doubted samples, by data centre.

    `refused_s` is when the last refused sample came: whoever sends such has not stopped.
    """

    heard_s: float
    newest: dict[str, Sample] = field(default_factory=dict)
    doubts: dict[str, Suspicion] = field(default_factory=dict)
    refused_s: dict[str, float] = field(default_factory=dict)
    looked: tuple[Suspicion, ...] = ()
    held: dict[str, deque[Sample]] = field(default_factory=dict)
    forced: dict[tuple[str, Doubt], _Force] = field(default_factory=dict)

    def standing(self) -> tuple[Suspicion, ...]:
        """Each doubt once; two data centres share the one about their exchange."""
        return tuple(dict.fromkeys((*self.doubts.values(), *self.looked)))


class Suspicions:
    """All standing suspicions about metrics.

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
        self._services: dict[str, _Known] = {}

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
        past = self._past(declared, window, known)
        doubts = judge(sample, past, self._rules.limits)
        _settle(known, sample.datacenter, {doubt.doubt for doubt in doubts})
        found = next((doubt for doubt in doubts if not self._forced(known, doubt)), None)
        self._remember(known, sample, found)
        return found

    def refused(self, service: str, datacenter: str, message: str) -> None:
        """A sample cannot be a fact: told until a good one comes, if its subject is declared."""
        try:
            self._fleets.current.fleet.service(service).cluster(datacenter)
        except NotFound:
            return
        now_s = self._now()
        known = self._known(service, now_s)
        known.refused_s[datacenter] = now_s
        known.doubts[datacenter] = Suspicion(
            doubt=Doubt.REFUSED, centers=(datacenter,), message=message
        )

    def restored(self, samples: Iterable[Sample]) -> None:
        """Take up what was known before a restart; the samples come by time."""
        for sample in samples:
            self._known(sample.service, sample.received_s).newest[sample.datacenter] = sample
        for known in self._services.values():
            for center, newest in known.newest.items():
                if newest.suspicion in FORCIBLE:
                    known.doubts[center] = _earlier(known, newest)

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
        known = self._services[service]
        force = _Force(finding=finding.id, until_s=self._now() + self._rules.limits.memory_s)
        released = tuple(replace(one, suspicion=None) for one in self.held(finding))
        for center in suspicion.centers:
            known.forced[center, suspicion.doubt] = replace(force)
            known.doubts.pop(center, None)
            known.held.pop(center, None)
        known.looked = tuple(one for one in known.looked if one != suspicion)
        known.newest.update({sample.datacenter: sample for sample in released})
        self.report([service])
        return released

    def is_forced(self, finding: Finding) -> bool:
        """Whether somebody's word on it still counts."""
        now_s = self._now()
        return any(
            force.finding == finding.id and force.until_s > now_s
            for known in self._services.values()
            for force in known.forced.values()
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

    def _known(self, service: str, heard_s: float) -> _Known:
        return self._services.setdefault(service, _Known(heard_s=heard_s))

    def _past(self, service: Service, window: ServiceWindow, known: _Known) -> Past:
        cadence = self._rules.cadence
        shares, moved_s = self._shares.of(service.name)
        return Past(
            service=resolved(self._fleets.current.fleet, service),
            trusted=window.samples,
            newest=known.newest,
            shares=shares,
            moved_s=moved_s,
            period_s=cadence.period_s,
            window_s=cadence.window_s,
        )

    def _remember(self, known: _Known, sample: Sample, doubt: Suspicion | None) -> None:
        center = sample.datacenter
        newest = known.newest.get(center)
        if newest is not None and sample.time_s < newest.time_s:
            return
        if newest is None or sample.time_s > newest.time_s:
            known.looked = tuple(
                one
                for one in known.looked
                if (one.doubt, one.centers) != (Doubt.STOPPED, (center,))
            )
        if doubt is None:
            known.newest[center] = sample
            known.doubts.pop(center, None)
            known.held.pop(center, None)
            return
        known.newest[center] = replace(sample, suspicion=doubt.doubt)
        known.doubts.update(dict.fromkeys(doubt.centers, doubt))
        for held in (*doubt.also, sample):
            marked = replace(held, suspicion=doubt.doubt)
            known.held.setdefault(held.datacenter, deque(maxlen=MOST_HELD)).append(marked)
            if marked.time_s == known.newest[held.datacenter].time_s:
                known.newest[held.datacenter] = marked

    def _look_at(self, service: Service, window: ServiceWindow, known: _Known) -> None:
        past = self._past(service, window, known)
        roles = {center.name: center.role for center in self._fleets.current.fleet.datacenters}
        bearing = [
            cluster.datacenter
            for cluster in service.clusters
            if past.shares.get(cluster.datacenter, 0.0) > 0
            or (roles.get(cluster.datacenter) in ACTIVE_ROLES and cluster.endpoints)
        ]
        known.doubts = {
            name: doubt
            for name, doubt in known.doubts.items()
            if any(name == cluster.datacenter for cluster in service.clusters)
        }
        fresh_s = self._rules.fresh_s
        received = dict.fromkeys(bearing, known.heard_s)
        received |= {name: sample.received_s for name, sample in known.newest.items()}
        # A reserve had nothing to report before it joined: its silence counts from the last move.
        reserves = (name for name in bearing if roles.get(name) not in ACTIVE_ROLES)
        received |= {name: max(received[name], past.moved_s) for name in reserves}
        for name, time_s in known.refused_s.items():
            received[name] = max(received.get(name, 0.0), time_s)
        found = stopped({name: received[name] for name in bearing}, self._now(), fresh_s)
        # Loads of different times tell nothing about shares.
        found = found or shares_exchanged(past, self._rules.limits)
        known.looked = tuple(one for one in found if not self._forced(known, one))

    def _forced(self, known: _Known, suspicion: Suspicion) -> bool:
        now_s = self._now()
        forces = (known.forced.get((name, suspicion.doubt)) for name in suspicion.centers)
        return any(force is not None and force.until_s > now_s for force in forces)


def _observations(service: str, known: _Known) -> tuple[Observation, ...]:
    return tuple(observed(service, suspicion) for suspicion in known.standing())


def _earlier(known: _Known, newest: Sample) -> Suspicion:
    """The doubt about a stored sample; an exchange is one of all that took part in it."""
    doubt = Doubt(str(newest.suspicion))
    centers: tuple[str, ...] = (newest.datacenter,)
    if doubt is Doubt.SWAPPED:
        centers = tuple(sorted(n for n, one in known.newest.items() if one.suspicion == doubt))
    message = "the newest sample was suspicious before the restart"
    return Suspicion(doubt=doubt, centers=centers, message=message)


def _settle(known: _Known, datacenter: str, doubts: set[Doubt]) -> None:
    """Let a force end when what it was for has been over for some samples."""
    for key, force in list(known.forced.items()):
        if key[0] == datacenter and key[1] is not Doubt.SHARES_SWAPPED:
            force.good = 0 if key[1] in doubts else force.good + 1
            if force.good >= SETTLED:
                del known.forced[key]
