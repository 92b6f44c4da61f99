import asyncio
from collections.abc import Callable
from dataclasses import replace

from controlplane.domain.errors import ControlPlaneError, Rejected, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publishing.couriers import REPAIR_S, STUCK_S, Courier, DeliveryState
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.stages import Instruments
from controlplane.ports.outside import Artifact, PlaneNode
from tests.builders import fleet


class Plane:
    """A data plane that fails as the test says."""

    name = "plane"

    def __init__(self, failures: list[ControlPlaneError]) -> None:
        self.failures = failures
        self.in_force: list[int] = []
        self.refused: list[Observation] = []
        self.repair_fails: ControlPlaneError | None = None

    def render(self, snapshot: Snapshot) -> Artifact:
        return Artifact(
            revision=snapshot.revision, version=snapshot.version, parts=(), snapshot=snapshot
        )

    async def apply(self, artifact: Artifact) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.in_force.append(artifact.revision)

    async def observe(self) -> list[PlaneNode]:
        return []

    async def repair(self) -> tuple[Observation, ...]:
        if self.repair_fails is not None:
            raise self.repair_fails
        return tuple(self.refused)


def _snapshot(revision: int) -> Snapshot:
    shares = {"tickets": {"beijing-1": 0.6, "beijing-2": 0.4}}
    return replace(build(fleet(), shares), revision=revision)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5.0):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_plane_that_is_away_gets_the_newest_when_it_is_back() -> None:
    publication = Publication()
    plane = Plane([Retryable("plane_away", "no answer")])
    courier = Courier(plane, publication, Instruments())
    task = asyncio.create_task(courier.run())
    publication.publish(_snapshot(1))
    await _until(lambda: courier.status.state is DeliveryState.RETRYING)
    publication.publish(_snapshot(2))
    await _until(lambda: courier.status.state is DeliveryState.IN_FORCE)
    assert plane.in_force == [2]
    task.cancel()


async def test_a_refusal_is_reported_and_not_repeated() -> None:
    publication = Publication()
    plane = Plane([Rejected("refused", "route r7: unknown cluster")])
    courier = Courier(plane, publication, Instruments())
    task = asyncio.create_task(courier.run())
    publication.publish(_snapshot(1))
    await _until(lambda: courier.status.state is DeliveryState.REJECTED)
    assert courier.status.message == "route r7: unknown cluster"
    publication.publish(_snapshot(2))
    await _until(lambda: courier.status.state is DeliveryState.IN_FORCE)
    assert plane.in_force == [2]
    task.cancel()


async def test_what_is_not_in_force_becomes_findings_that_clear() -> None:
    publication, instruments = Publication(), Instruments()
    plane = Plane([])
    plane.refused = [Observation(code="item_refused", subject="route/r7", message="missing )")]
    courier = Courier(plane, publication, instruments)
    task = asyncio.create_task(courier.run())
    publication.publish(_snapshot(1))
    await _until(lambda: instruments.findings.standing() != [])
    (finding,) = instruments.findings.standing()
    assert (finding.source, finding.observation) == (Source.DATA_PLANE, plane.refused[0])
    assert courier.status.refused == tuple(plane.refused)
    plane.refused = []
    await _until(lambda: instruments.findings.standing() == [])
    assert courier.status.refused == ()
    task.cancel()


async def test_a_snapshot_refused_as_a_whole_is_a_finding_on_the_plane() -> None:
    publication, instruments = Publication(), Instruments()
    plane = Plane([Rejected("refused", "no"), Rejected("refused", "no")])
    task = asyncio.create_task(Courier(plane, publication, instruments).run())
    publication.publish(_snapshot(1))
    await _until(lambda: instruments.findings.standing() != [])
    (finding,) = instruments.findings.standing()
    assert finding.observation.subject == "plane/plane"
    plane.failures = []
    publication.publish(_snapshot(2))
    await _until(lambda: instruments.findings.standing() == [])
    task.cancel()


async def test_a_plane_that_takes_nothing_for_long_is_a_finding() -> None:
    now_s = 1_000.0
    publication, instruments = Publication(), Instruments(now=lambda: now_s)
    plane = Plane([Retryable("plane_away", "no answer")] * 4)
    courier = Courier(plane, publication, instruments)
    task = asyncio.create_task(courier.run())
    publication.publish(_snapshot(1))
    await _until(lambda: courier.status.state is DeliveryState.RETRYING)
    assert instruments.findings.standing() == []
    now_s += STUCK_S
    await _until(lambda: instruments.findings.standing() != [])
    (finding,) = instruments.findings.standing()
    assert (finding.observation.code, finding.observation.subject) == (
        "snapshot_delayed",
        "plane/plane",
    )
    assert "revision 1 is not in force, tried for 10 s: no answer" in finding.observation.message
    await _until(lambda: instruments.findings.standing() == [])
    assert plane.in_force == [1]
    task.cancel()


async def test_a_plane_that_cannot_be_repaired_keeps_its_findings() -> None:
    publication, instruments = Publication(), Instruments()
    plane = Plane([])
    plane.refused = [Observation(code="item_refused", subject="route/r7", message="missing )")]
    courier = Courier(plane, publication, instruments)
    task = asyncio.create_task(courier.run())
    publication.publish(_snapshot(1))
    await _until(lambda: instruments.findings.standing() != [])
    plane.repair_fails = Retryable("plane_away", "no answer")
    plane.refused = []
    await asyncio.sleep(REPAIR_S * 1.5)
    assert len(instruments.findings.standing()) == 1
    plane.repair_fails = None
    await _until(lambda: instruments.findings.standing() == [])
    task.cancel()
