import asyncio
from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publishing.publication import Publication
from tests.builders import fleet


def _snapshot(revision: int, primary: float = 0.6) -> Snapshot:
    shares = {"tickets": {"beijing-1": primary, "beijing-2": 1 - primary}}
    return replace(build(fleet(), shares), revision=revision)


async def test_waiters_get_the_newest_and_older_revisions_are_ignored() -> None:
    publication = Publication()
    waiters = [asyncio.create_task(publication.changed_since(1, 5.0)) for _ in range(100)]
    await asyncio.sleep(0)
    publication.publish(_snapshot(1))
    publication.publish(_snapshot(3))
    publication.publish(_snapshot(2))
    assert {snapshot.revision for snapshot in await asyncio.gather(*waiters) if snapshot} == {3}
    assert publication.current is not None
    assert publication.current.revision == 3


async def test_a_wait_ends_with_none_when_nothing_comes() -> None:
    publication = Publication()
    assert await publication.changed_since(0, 0.01) is None
    publication.publish(_snapshot(1))
    assert await publication.changed_since(1, 0.01) is None
    assert await publication.changed_since(0, 0.01) is publication.current


async def test_who_waits_goes_when_the_process_stops_and_nobody_waits_after() -> None:
    publication = Publication()
    publication.publish(_snapshot(1))
    waiters = [asyncio.create_task(publication.changed_since(1, 5.0)) for _ in range(10)]
    await asyncio.sleep(0)
    publication.close()
    async with asyncio.timeout(1):
        assert set(await asyncio.gather(*waiters)) == {None}
        assert await publication.changed_since(1, 5.0) is None
    assert await publication.changed_since(0, 5.0) is publication.current
