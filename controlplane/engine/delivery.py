"""Couriers: each brings the newest snapshot to one data plane and keeps trying.

Retrying, backoff, deadlines and status live here, once. A plane that is slow gets the newest
snapshot when it is ready, never a queue of old ones.
"""

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publication import Publication
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports import DataPlane, PlaneNode

log = structlog.get_logger(__name__)

DEADLINE_S = 10.0
LONGEST_BACKOFF_S = 10.0
# Without anything new the courier looks again after this time.
IDLE_S = 60.0


class DeliveryState(StrEnum):
    """What a plane has of the newest snapshot."""

    WAITING = "waiting"
    IN_FORCE = "in-force"
    RETRYING = "retrying"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStatus:
    """One plane's standing; `message` is the plane's own words when it is not in force."""

    plane: str
    state: DeliveryState = DeliveryState.WAITING
    revision: int = 0
    version: str = ""
    message: str = ""
    since_s: float = 0.0


class Courier:
    """Brings snapshots to one plane."""

    def __init__(
        self,
        plane: DataPlane,
        publication: Publication,
        instruments: Instruments,
    ) -> None:
        self._plane = plane
        self._publication = publication
        self._stages = instruments.stages
        self._now = instruments.now
        self._status = DeliveryStatus(plane=plane.name)

    @property
    def status(self) -> DeliveryStatus:
        """What the plane has."""
        return self._status

    async def nodes(self) -> list[PlaneNode]:
        """Who of this plane runs what."""
        return await self._plane.observe()

    async def run(self) -> None:
        """Deliver each newest snapshot until cancelled."""
        tried = 0
        while True:
            snapshot = await self._publication.changed_since(tried, IDLE_S)
            if snapshot is not None:
                tried = await self._deliver(snapshot)

    async def _deliver(self, snapshot: Snapshot) -> int:
        """Bring it, or whatever is newer by then; the revision that was settled."""
        backoff_s = 0.1
        while True:
            try:
                with self._stages.measure(Stage.DELIVER):
                    await self._apply(snapshot)
            except Rejected as error:
                self._report(snapshot, DeliveryState.REJECTED, error.message)
                return snapshot.revision
            except (Retryable, TimeoutError) as error:
                self._report(snapshot, DeliveryState.RETRYING, str(error) or "deadline passed")
                newer = await self._publication.changed_since(snapshot.revision, backoff_s)
                snapshot = newer or snapshot
                backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)
            else:
                self._report(snapshot, DeliveryState.IN_FORCE, "")
                return snapshot.revision

    async def _apply(self, snapshot: Snapshot) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await self._plane.apply(self._plane.render(snapshot))

    def _report(self, snapshot: Snapshot, state: DeliveryState, message: str) -> None:
        earlier = self._status
        self._status = replace(
            earlier,
            state=state,
            revision=snapshot.revision,
            version=snapshot.version,
            message=message,
            since_s=self._now(),
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
