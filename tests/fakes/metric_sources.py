"""A metric source that a test tells what to answer."""

import asyncio
from dataclasses import dataclass, field

from controlplane.domain.sources import Answer, DeclaredSource, Point
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.pull import Puller, PullParts, PullTimes
from controlplane.engine.stages import Instruments
from tests import builders

QUERIES = (("request_rate_rps", "rate"), ("response_time_ms", "time"))
MAIN = DeclaredSource(name="main", url="http://127.0.0.1:9", queries=QUERIES)
VALUES = {"request_rate_rps": 40.0, "response_time_ms": 50.0}


@dataclass(slots=True)
class FakeSource:
    """Answers for both data centers of `builders.fleet`, unless told otherwise.

    Attributes:
        fail: raised instead of any answer.
        slow: names of sources that never answer.
        silent: data centers without series.
        asked: (source, reading, time) of each question.
    """

    name: str = "fake"
    fail: Exception | None = None
    slow: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, float]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=lambda: dict(VALUES))

    async def read(self, source: DeclaredSource, reading: str, time_s: float) -> Answer:
        self.asked.append((source.name, reading, time_s))
        if source.name in self.slow:
            await asyncio.sleep(60)
        if self.fail is not None:
            raise self.fail
        centers = [center.name for center in builders.fleet().datacenters]
        points = [
            Point(
                service="tickets",
                datacenter=name,
                value=self.values[reading],
                time_s=time_s,
            )
            for name in centers
            if name not in self.silent
        ]
        return Answer(reading=reading, points=tuple(points))


def puller(source: FakeSource, fleets: Fleets, intake: Intake, instruments: Instruments) -> Puller:
    """A puller with periods of a minute that does not wait long."""
    return Puller(
        PullParts(source=source, fleets=fleets, intake=intake),
        PullTimes(period_s=60.0, timeout_s=0.05),
        instruments,
    )
