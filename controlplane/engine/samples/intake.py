"""Intake: samples become facts, or findings.

Called by the API (and by pulling sources). Each sample is judged alone: a bad one is a finding
in the receipt, the rest count. Trusted ones enter the window at once and the store soon after;
suspicious ones are stored and marked, and no decision reads them. The store being away loses
nothing that memory can hold.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import structlog

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Retryable
from controlplane.domain.strategies.regional_load import alarming
from controlplane.domain.suspicion.doubt import Suspicion
from controlplane.domain.telemetry import (
    Sample,
    ServiceWindow,
    extended,
    first_received,
    received_by,
    turned_back,
    without,
)
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.samples.receipts import Receipt, SampleFinding, fault_in, suspected
from controlplane.engine.samples.suspicion import Suspicions
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.stores import SampleStore

log = structlog.get_logger(__name__)

# Samples that wait for the store: about 20 s of the largest burst (50,000 samples/s).
MOST_PENDING = 1_000_000
WRITE_EVERY_S = 1.0
# Judged before others get a turn: some 10 ms.
AT_ONCE = 250


class Intake:
    """Windows of recent samples per service.

    Args:
        fleets: samples of services that the fleet in force does not declare are findings.
        pokes: gets an alarm when a trusted sample is over its service's level.
        suspicions: the judge of what is well-formed, with the length of a period and of the
            windows.
    """

    def __init__(
        self,
        store: SampleStore,
        fleets: Fleets,
        pokes: Pokes,
        suspicions: Suspicions,
        instruments: Instruments,
    ) -> None:
        self._store = store
        self._fleets = fleets
        self._pokes = pokes
        self._suspicions = suspicions
        self._cadence = suspicions.cadence
        self._now = instruments.now
        self._stages = instruments.stages
        self._alarmed_s: dict[str, float] = {}
        self._windows: dict[str, ServiceWindow] = {}
        self._pending: deque[Sample] = deque(maxlen=MOST_PENDING)
        self._store_away = False
        self._latest_s = 0.0
        self.accepted = 0
        self.suspicious = 0
        self.refused = 0

    def window(self, service: str) -> ServiceWindow:
        """Recent samples of a service; an empty window when there are none."""
        return self._windows.get(service, ServiceWindow(service=service))

    @property
    def suspicions(self) -> Suspicions:
        """What is not taken for true."""
        return self._suspicions

    @property
    def waiting(self) -> int:
        """Samples that are not in the store yet."""
        return len(self._pending)

    async def accept(self, samples: Sequence[Sample]) -> Receipt:
        """Judge and take samples; `received_s` is set here."""
        self._mind_clock()
        refused: list[SampleFinding] = []
        suspicious: list[SampleFinding] = []
        with self._stages.measure(Stage.INTAKE):
            for start in range(0, len(samples), AT_ONCE):
                some = samples[start : start + AT_ONCE]
                good: list[Sample] = []
                for index, sample in enumerate(some, start):
                    if (finding := self._check(index, sample)) is not None:
                        refused.append(finding)
                    elif (doubt := self._take(index, sample, good)) is not None:
                        suspicious.append(doubt)
                self._alarm(good)
                self._suspicions.report({sample.service for sample in some})
                await asyncio.sleep(0)
        return Receipt(
            accepted=len(samples) - len(refused),
            findings=tuple(refused),
            suspicious=tuple(suspicious),
        )

    def refuse(self, findings: Iterable[SampleFinding]) -> None:
        """Samples that nobody could read, as far as they name what they are about."""
        for one in findings:
            self._refused(one)
            self._suspicions.report([one.subject[0]])

    def release(self, samples: Iterable[Sample]) -> None:
        """Take in what was held and is true on an operator's word."""
        self._extend(samples)
        self._pending.extend(samples)

    async def restore(self) -> None:
        """Fill the windows from the store after a restart.

        Receive times are the stored ones, so what was stale before is stale now.
        """
        now_s = self._now()
        since_s = now_s - self._cadence.window_s
        for service in self._fleets.current.fleet.services:
            stored = await self._store.since(service.name, since_s)
            stored = [received_by(sample, now_s) for sample in stored]
            self._extend(sample for sample in stored if sample.suspicion is None)
            self._suspicions.restored(service.name, stored)
            if not stored and (heard_s := await self._store.heard_s(service.name)) is not None:
                self._suspicions.silent(service.name, heard_s)
            self._suspicions.report([service.name])

    async def watch(self) -> None:
        """Look once a period for what no sample tells, until cancelled."""
        while True:
            await asyncio.sleep(self._cadence.period_s)
            self._mind_clock()
            await self._suspicions.look(self.window)

    async def run(self) -> None:
        """Write what was accepted to the store, batch by batch, until cancelled."""
        try:
            while True:
                await asyncio.sleep(WRITE_EVERY_S)
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Write everything that waits; what the store does not take goes on waiting."""
        batch = list(self._pending)
        if not batch:
            return
        self._pending.clear()
        try:
            with self._stages.measure(Stage.PERSIST):
                await self._store.append(batch)
        except Retryable as error:
            self._put_back(batch)
            if not self._store_away:
                log.warning("samples.store_away", waiting=len(self._pending), reason=error.message)
            self._store_away = True
        else:
            self._store_away = False

    def _put_back(self, batch: Sequence[Sample]) -> None:
        """Before what came meanwhile; without room the oldest go, not the newest."""
        room = MOST_PENDING - len(self._pending)
        self._pending.extendleft(reversed(batch[-room:] if room else ()))

    def _mind_clock(self) -> None:
        """Nothing was received after now: a clock that was set back must not hide a silence."""
        now_s = self._now()
        if now_s < self._latest_s:
            log.warning("clock.set_back", by_s=round(self._latest_s - now_s, 3))
            self._windows = {name: turned_back(own, now_s) for name, own in self._windows.items()}
            self._alarmed_s = {name: min(at_s, now_s) for name, at_s in self._alarmed_s.items()}
            self._suspicions.turn_back(now_s)
        self._latest_s = now_s

    def _check(self, index: int, sample: Sample) -> SampleFinding | None:
        """What makes a sample no fact; counted and remembered."""
        finding = fault_in(index, sample, self._fleets.current.fleet, self._now())
        if finding is not None:
            self._refused(finding)
        return finding

    def _take(self, index: int, sent: Sample, good: list[Sample]) -> SampleFinding | None:
        """Trust a sample, which joins the good ones, or hold it and say why."""
        sample = self._received(sent)
        suspicion = self._suspicions.judge(sample, self.window(sample.service))
        if suspicion is not None:
            self._hold(sample, suspicion)
            return suspected(index, sample, suspicion)
        self.accepted += 1
        self._extend((sample,))
        self._pending.append(sample)
        good.append(sample)
        return None

    def _received(self, sample: Sample) -> Sample:
        """The sample with its receipt: now, or when its time was sent first."""
        received = replace(sample, received_s=self._now(), suspicion=None)
        newest = self._suspicions.newest(sample.service, sample.datacenter)
        if newest is None or sample.time_s > newest.time_s:
            return received
        history = self.window(sample.service).samples.get(sample.datacenter, ())
        return first_received((newest, *history), received)

    def _refused(self, finding: SampleFinding) -> None:
        self.refused += 1
        self._suspicions.refused(*finding.subject, finding.message)

    def _hold(self, sample: Sample, suspicion: Suspicion) -> None:
        """Store it, marked, and keep it out of the window with those that it betrays."""
        self.suspicious += 1
        self._windows[sample.service] = without(self.window(sample.service), suspicion.also)
        self._pending.extend(
            replace(one, suspicion=suspicion.doubt.value) for one in (*suspicion.also, sample)
        )

    def _extend(self, samples: Iterable[Sample]) -> None:
        by_service: dict[str, list[Sample]] = {}
        for sample in samples:
            by_service.setdefault(sample.service, []).append(sample)
        for service, own in by_service.items():
            self._windows[service] = extended(self.window(service), own, self._cadence.window_s)

    def _alarm(self, samples: Iterable[Sample]) -> None:
        """Poke for services over their alarm level, each once per period at most."""
        fleet = self._fleets.current.fleet
        hot = {
            sample.service for sample in samples if alarming(sample, fleet.service(sample.service))
        }
        now_s = self._now()
        period_s = self._cadence.period_s
        due = {
            name for name in hot if not 0 <= now_s - self._alarmed_s.get(name, -period_s) < period_s
        }
        self._alarmed_s.update(dict.fromkeys(due, now_s))
        if due:
            self._pokes.poke(Trigger.ALARM, due)
