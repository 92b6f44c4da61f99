import asyncio
from collections.abc import Callable
from dataclasses import replace

from controlplane.domain.errors import ControlPlaneError, Rejected, Retryable
from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import Snapshot, build
from controlplane.engine.delivery import Courier, DeliveryState
from controlplane.engine.publication import Publication
from controlplane.engine.stages import Instruments
from controlplane.ports import Artifact, PlaneNode
from tests.builders import fleet


class Plane:
    """A data plane that fails as the test says."""

    name = "plane"

    def __init__(self, failures: list[ControlPlaneError]) -> None:
        self.failures = failures
        self.in_force: list[int] = []
        self.refused: list[Observation] = []

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
