"""The demo's metrics system: measures every lane each period and posts the samples.

Runs beside the play as one task. Measuring goes on when a part does not answer; what is not
measured is not sent.
"""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean

from controlplane.demo.collector import Collector, LaneSample
from controlplane.demo.control import Control, ControlFailed
from controlplane.demo.layout import Layout
from controlplane.demo.options import PERIOD_S

METRICS = (
    "request_rate_rps",
    "response_time_ms",
    "response_time_p99_ms",
    "error_ratio",
    "inflight",
    "cpu_avg",
    "cpu_max",
    "memory",
    "disk",
    "ingress_bandwidth_bps",
)
Place = tuple[str, str]


@dataclass(slots=True)
class Measurements:
    """Utilisation (0..1) of each (lane, data centre) by time, and failed deliveries."""

    utilization: dict[Place, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    failures: int = 0

    def mean_utilization(self, place: Place, since_s: float, until_s: float) -> float | None:
        """Mean over the periods that ended in the time; None without one."""
        values = [v for at_s, v in self.utilization[place] if since_s < at_s <= until_s]
        return fmean(values) if values else None

    def newest(self, place: Place) -> float | None:
        """The newest period's value."""
        values = self.utilization[place]
        return values[-1][1] if values else None


async def measure(layout: Layout, control: Control, into: Measurements) -> None:
    """Measure and post until cancelled."""
    collector = Collector(layout)
    try:
        due_s = time.time()
        while True:
            due_s = max(due_s + PERIOD_S, time.time())
            await asyncio.sleep(due_s - time.time())
            samples = await collector.collect()
            for sample in samples:
                place = (sample.lane, sample.datacenter)
                into.utilization[place].append((sample.time_s, sample.cpu_avg))
            await _send(control, samples, into)
    finally:
        await collector.close()


async def _send(control: Control, samples: list[LaneSample], into: Measurements) -> None:
    wire = [_wire(sample) for sample in samples if sample.response_time_ms is not None]
    if not wire:
        return
    try:
        await control.send_samples(wire)
    except ControlFailed:
        into.failures += 1


def _wire(sample: LaneSample) -> dict[str, object]:
    values = {name: getattr(sample, name) for name in METRICS}
    metrics = {name: float(value) for name, value in values.items() if value is not None}
    return {
        "service": sample.lane,
        "datacenter": sample.datacenter,
        "time": sample.time_s,
        **metrics,
    }
