"""Following the store: a process that was stopped writes nothing old."""

import asyncio
from dataclasses import replace

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Rejected
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.pokes import Pokes
from controlplane.engine.publishing import following
from controlplane.engine.publishing.couriers import Courier, DeliveryState
from controlplane.engine.publishing.following import Following
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.stages import Instruments
from controlplane.ports.outside import Artifact
from tests.builders import fleet, service
from tests.engine.publishing.test_couriers import Plane
from tests.engine.rig import Rig
from tests.fakes.stores import MemorySnapshotStore


def snapshot(share: float) -> Snapshot:
    return build(fleet(), {"tickets": {"beijing-1": share, "beijing-2": 1 - share}})


class Site:
    """A store that another process writes to, and what this one has published."""

    def __init__(self) -> None:
        self.store = MemorySnapshotStore()
        self.publication = Publication()
        self.pokes = Pokes()
        self.following = Following(self.store, self.publication, self.pokes)

    async def write(self, share: float) -> Snapshot:
        newest = await self.store.newest_revision()
        return await self.store.append(snapshot(share), newest)


async def test_what_another_process_wrote_is_told_to_the_loop_within_a_moment() -> None:
    site = Site()
    site.publication.publish(await site.write(0.5))
    task = asyncio.create_task(site.following.run())
    await asyncio.sleep(0.01)
    assert not site.pokes.behind
    await site.write(0.6)
    async with asyncio.timeout(2 * following.EVERY_S):
        await site.pokes.take()
    assert site.pokes.behind
    task.cancel()


async def test_nobody_writes_a_revision_that_is_not_the_newest() -> None:
    site = Site()
    old = await site.write(0.5)
    await site.following.check(old.revision)
    new = await site.write(0.6)
    # Not asked again within the second: then the planes' own fences hold.
    await site.following.check(old.revision)
    await site.following._look()
    with pytest.raises(Rejected, match="the store has revision 2"):
        await site.following.check(old.revision)
    await site.following.check(new.revision)


async def test_a_courier_that_goes_on_after_a_stop_leaves_the_plane_alone() -> None:
    site = Site()
    old = await site.write(0.5)
    await site.write(0.6)
    plane = Plane([])
    courier = Courier(plane, site.publication, Instruments(), site.following.check)
    site.publication.publish(old)
    task = asyncio.create_task(courier.run())
    async with asyncio.timeout(5):
        while courier.status.state is not DeliveryState.REJECTED:
            await asyncio.sleep(0.01)
    assert plane.in_force == []
    site.publication.publish(replace(snapshot(0.6), revision=2))
    async with asyncio.timeout(5):
        while courier.status.state is not DeliveryState.IN_FORCE:
            await asyncio.sleep(0.01)
    assert plane.in_force == [2]
    task.cancel()


class AheadPlane(Plane):
    """Its proxy has a revision of before an older copy of the database was put back."""

    newest = 9

    async def apply(self, artifact: Artifact) -> None:
        if artifact.revision <= self.newest:
            raise Rejected("revision_not_newer", "not newer", {"in_force": self.newest})
        self.newest = artifact.revision
        await super().apply(artifact)


async def _started(rig: Rig) -> tuple[AheadPlane, Courier, asyncio.Task[None]]:
    plane, stores = AheadPlane([]), rig.stores
    follows = Following(stores.snapshots, rig.publication, rig.pokes)
    courier = Courier(plane, rig.publication, rig.instruments, follows.check, follows.overtaken)
    return plane, courier, asyncio.create_task(courier.run())


async def _until(courier: Courier, state: DeliveryState) -> None:
    async with asyncio.timeout(5):
        while courier.status.state is not state:
            await asyncio.sleep(0.01)


async def test_an_older_copy_of_the_store_goes_past_what_a_plane_has() -> None:
    rig = Rig()
    await rig.declare(fleet())
    plane, courier, task = await _started(rig)
    await _until(courier, DeliveryState.REJECTED)
    await rig.loop.tick(await rig.pokes.take())
    assert rig.revision == 10
    await _until(courier, DeliveryState.IN_FORCE)
    assert plane.in_force == [10]
    latest = await rig.stores.snapshots.latest()
    assert latest is not None
    assert latest.revision == 10
    await rig.tick(Trigger.OPERATOR)
    assert rig.revision == 10
    # Whoever is faster from here on is another writer.
    plane.newest = 20
    await rig.declare(fleet(service(), service("video")))
    await _until(courier, DeliveryState.REJECTED)
    assert not rig.pokes.urgent
    task.cancel()


async def test_an_older_copy_is_gone_past_also_while_the_store_is_away() -> None:
    rig = Rig()
    await rig.declare(fleet())
    _, courier, task = await _started(rig)
    await _until(courier, DeliveryState.REJECTED)
    rig.stores.outage.away = True
    await rig.loop.tick(await rig.pokes.take())
    assert rig.revision == 10
    task.cancel()


async def test_what_the_store_has_is_no_older_copy() -> None:
    rig = Rig()
    await rig.declare(fleet())
    follows = Following(rig.stores.snapshots, rig.publication, rig.pokes)
    await follows.overtaken(rig.revision)
    rig.stores.outage.away = True
    await follows.overtaken(9)
    assert (rig.publication.floor, rig.pokes.urgent) == (0, False)


async def test_while_the_store_is_away_nothing_is_newer() -> None:
    site = Site()
    old = await site.write(0.5)
    await site.write(0.6)
    site.store.outage.away = True
    await site.following.check(old.revision)
    assert site.following.newest == 0


async def test_a_new_stream_waits_until_the_newest_is_served_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "PATIENCE_S", 0.05)
    site = Site()
    await site.write(0.5)
    served = [0]
    waiting = asyncio.create_task(site.following.caught_up(lambda: served[0]))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    served[0] = 1
    await waiting
    served[0] = 0
    await site.following.caught_up(lambda: served[0])
