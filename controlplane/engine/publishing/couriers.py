"""Couriers: each brings the newest snapshot to one data plane and keeps it there.

Retrying, backoff, deadlines and status live here, once. A plane that is slow gets the newest
snapshot when it is ready, never a queue of old ones. Between two snapshots the plane repairs what
its consumers refused or lost; what is not in force as it was published becomes findings.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.outside import DataPlane, PlaneNode

log = structlog.get_logger(__name__)

# A check before a push of 10,000 routes and the search for a bad one take some seconds.
DEADLINE_S = 30.0
LONGEST_BACKOFF_S = 10.0
# How often a plane is asked what its consumers refused: a finding is to appear within seconds.
REPAIR_S = 0.5
# From here on it is told that a plane does not take the newest snapshot: most retries are over
# sooner.
STUCK_S = 10.0


# Raises Rejected for a revision that is not the newest; the plane has its own fence besides.
Fence = Callable[[int], Awaitable[None]]
# Told of a newer revision that the plane has when this process brings it the first one.
Overtaken = Callable[[int], Awaitable[None]]


async def _nothing(_: int) -> None:
    """Where there is no store to compare with."""


class DeliveryState(StrEnum):
    """What a plane has of the newest snapshot."""

    WAITING = "waiting"
    IN_FORCE = "in-force"
    RETRYING = "retrying"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStatus:
    """One plane's standing.

    Attributes:
        message: the plane's own words when the snapshot is not in force.
        since_s: when it came to this; for a plane that is tried again, when that began.
        refused: items of it that are not in force as they were published.
    """

    plane: str
    state: DeliveryState = DeliveryState.WAITING
    revision: int = 0
    version: str = ""
    message: str = ""
    since_s: float = 0.0
    refused: tuple[Observation, ...] = ()


class Courier:
    """Brings snapshots to one plane."""

    def __init__(
        self,
        plane: DataPlane,
        publication: Publication,
        instruments: Instruments,
        fence: Fence | None = None,
        overtaken: Overtaken = _nothing,
    ) -> None:
        self._plane = plane
        self._fence = fence
        self._overtaken = overtaken
        self._has_delivered = False
        self._publication = publication
        self._stages = instruments.stages
        self._now = instruments.now
        self._findings = instruments.findings
        self._status = DeliveryStatus(plane=plane.name)
        self._not_repaired = ""

    @property
    def status(self) -> DeliveryStatus:
        """What the plane has."""
        return self._status

    async def nodes(self) -> list[PlaneNode]:
        """Who of this plane runs what."""
        return await self._plane.observe()

    async def run(self) -> None:
        """Deliver each newest snapshot, and repair in between, until cancelled."""
        tried = 0
        while True:
            snapshot = await self._publication.changed_since(tried, REPAIR_S)
            if snapshot is not None:
                tried = await self._deliver(snapshot)
            await self._repair()

    async def _deliver(self, snapshot: Snapshot) -> int:
        """Bring it, or whatever is newer by then; the revision that was settled."""
        backoff_s = 0.1
        while True:
            try:
                with self._stages.measure(Stage.DELIVER):
                    await self._apply(snapshot)
            except Rejected as error:
                self._report(snapshot, DeliveryState.REJECTED, error.message)
                await self._look_ahead(error)
                return snapshot.revision
            except (Retryable, TimeoutError) as error:
                self._report(snapshot, DeliveryState.RETRYING, str(error) or "deadline passed")
                await self._repair()
                newer = await self._publication.changed_since(snapshot.revision, backoff_s)
                snapshot = newer or snapshot
                backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)
            else:
                self._report(snapshot, DeliveryState.IN_FORCE, "")
                self._has_delivered = True
                return snapshot.revision

    async def _look_ahead(self, error: Rejected) -> None:
        """Only a start may go past what the plane has: later it is another writer's."""
        in_force = error.details.get("in_force")
        if self._has_delivered or error.code != "revision_not_newer":
            return
        if isinstance(in_force, int):
            await self._overtaken(in_force)

    async def _apply(self, snapshot: Snapshot) -> None:
        async with asyncio.timeout(DEADLINE_S):
            # Ten thousand routes take longer than the loop may be held up.
            artifact = await asyncio.to_thread(self._plane.render, snapshot)
            if self._fence is not None:
                await self._fence(snapshot.revision)
            await self._plane.apply(artifact)

    async def _repair(self) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                refused = await self._plane.repair()
        except (Rejected, Retryable, TimeoutError) as error:
            # What stood before stands on; the next round tries again.
            if str(error) != self._not_repaired:
                log.warning("delivery.not_repaired", plane=self._plane.name, reason=str(error))
            self._not_repaired = str(error)
            return
        self._not_repaired = ""
        self._status = replace(self._status, refused=refused)
        standing = [*refused, *_as_a_whole(self._status, self._now())]
        self._findings.report(Source.DATA_PLANE, standing, scope=self._plane.name)

    def _report(self, snapshot: Snapshot, state: DeliveryState, message: str) -> None:
        earlier = self._status
        again = state is earlier.state is DeliveryState.RETRYING
        self._status = replace(
            earlier,
            state=state,
            revision=snapshot.revision,
            version=snapshot.version,
            message=message,
            since_s=earlier.since_s if again else self._now(),
        )
        if (state, message) == (earlier.state, earlier.message):
            return
        event = log.info if state is DeliveryState.IN_FORCE else log.warning
        event(
            "delivery.state",
            plane=self._plane.name,
            state=state,
            revision=snapshot.revision,
            reason=message,
        )


def _as_a_whole(status: DeliveryStatus, now_s: float) -> list[Observation]:
    tried_s = now_s - status.since_s
    if status.state is DeliveryState.REJECTED:
        code, trying = "snapshot_rejected", ""
    elif status.state is DeliveryState.RETRYING and tried_s >= STUCK_S:
        code, trying = "snapshot_delayed", f", tried for {tried_s // STUCK_S * STUCK_S:.0f} s"
    else:
        return []
    return [
        Observation(
            code=code,
            subject=f"plane/{status.plane}",
            message=f"revision {status.revision} is not in force{trying}: {status.message}",
            held="the snapshot before it stays in force",
            severity=Severity.CRITICAL,
        )
    ]
