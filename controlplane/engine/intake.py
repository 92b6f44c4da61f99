"""Intake: samples become facts, or findings.

Called by the API (and by pulling sources). Each sample is judged alone: a bad one is a finding
in the receipt, the rest count. Good ones enter the window at once and the store soon after; the
store being away loses nothing that memory can hold.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import ControlPlaneError, Retryable
from controlplane.domain.telemetry import Sample, ServiceWindow, check, extended
from controlplane.domain.topology import Fleet
from controlplane.engine.cadence import Cadence
from controlplane.engine.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports import SampleStore

log = structlog.get_logger(__name__)

# Samples that wait for the store: about 20 s of the largest burst (50,000 samples/s).
MOST_PENDING = 1_000_000
# The sender's clock may be ahead of ours by this much.
CLOCK_AHEAD_S = 300.0
WRITE_EVERY_S = 1.0
# Judged before others get a turn: some 10 ms.
AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFinding:
    """What is wrong with one sample of a call; `index` counts from 0."""

    index: int
    code: str
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Answer to one call."""

    accepted: int
    findings: tuple[SampleFinding, ...] = ()


class Intake:
    """Windows of recent samples per service.

    Args:
        fleets: samples of services that the fleet in force does not declare are findings.
        pokes: gets an alarm when a sample is over its service's level.
        cadence: length of a period and of the windows.
    """

    def __init__(
        self,
        store: SampleStore,
        fleets: Fleets,
        pokes: Pokes,
        cadence: Cadence,
        instruments: Instruments,
    ) -> None:
        self._store = store
        self._fleets = fleets
        self._pokes = pokes
        self._cadence = cadence
        self._now = instruments.now
        self._stages = instruments.stages
        self._alarmed_s: dict[str, float] = {}
        self._windows: dict[str, ServiceWindow] = {}
        self._pending: deque[Sample] = deque(maxlen=MOST_PENDING)
        self.accepted = 0
        self.refused = 0

    def window(self, service: str) -> ServiceWindow:
        """Recent samples of a service; an empty window when there are none."""
        return self._windows.get(service, ServiceWindow(service=service))

    @property
    def waiting(self) -> int:
        """Samples that are not in the store yet."""
        return len(self._pending)

    async def accept(self, samples: Sequence[Sample]) -> Receipt:
        """Judge and take samples; `received_s` is set here."""
        findings: list[SampleFinding] = []
        with self._stages.measure(Stage.INTAKE):
            for start in range(0, len(samples), AT_ONCE):
                some = samples[start : start + AT_ONCE]
                good = self._judge(some, start, findings)
                self._extend(good)
                self._pending.extend(good)
                self._alarm(good)
                self.accepted += len(good)
                self.refused += len(some) - len(good)
                await asyncio.sleep(0)
        return Receipt(accepted=len(samples) - len(findings), findings=tuple(findings))

    async def restore(self) -> None:
        """Fill the windows from the store after a restart.

        Receive times are the stored ones, so what was stale before is stale now.
        """
        since_s = self._now() - self._cadence.window_s
        for service in self._fleets.current.fleet.services:
            self._extend(await self._store.since(service.name, since_s))

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
            self._pending.extendleft(reversed(batch))
            log.warning("samples.store_away", waiting=len(self._pending), reason=error.message)

    def _judge(
        self, samples: Sequence[Sample], start: int, findings: list[SampleFinding]
    ) -> list[Sample]:
        """The good ones; a bad one's finding is added, numbered from `start`."""
        now_s = self._now()
        fleet = self._fleets.current.fleet
        good: list[Sample] = []
        for index, sample in enumerate(samples, start):
            finding = _finding(index, sample, fleet, now_s)
            if finding is None:
                good.append(replace(sample, received_s=now_s))
            else:
                findings.append(finding)
        return good

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
            sample.service
            for sample in samples
            if sample.cpu_avg is not None
            and sample.cpu_avg > fleet.service(sample.service).alarm_cpu
        }
        now_s = self._now()
        period_s = self._cadence.period_s
        due = {name for name in hot if now_s - self._alarmed_s.get(name, -period_s) >= period_s}
        self._alarmed_s.update(dict.fromkeys(due, now_s))
        if due:
            self._pokes.poke(Trigger.ALARM, due)


def _finding(index: int, sample: Sample, fleet: Fleet, now_s: float) -> SampleFinding | None:
    try:
        check(sample, fleet)
    except ControlPlaneError as error:
        field = error.details.get("field", "")
        return SampleFinding(index=index, code=error.code, message=error.message, field=str(field))
    if sample.time_s > now_s + CLOCK_AHEAD_S:
        return SampleFinding(
            index=index,
            code="sample_from_the_future",
            message=f"time is {sample.time_s - now_s:.0f} s ahead of this clock; "
            f"the limit is {CLOCK_AHEAD_S:.0f} s: check the sender's clock",
            field="time",
        )
    return None
