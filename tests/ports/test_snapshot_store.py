"""SnapshotStore: append by compare-and-set, read back with the same version."""

import asyncio
from dataclasses import replace

import pytest

from controlplane.domain import canonical
from controlplane.domain import snapshot as snapshots
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.snapshot import Snapshot
from tests.ports.conftest import Stores
from tests.ports.examples import snapshot


async def test_before_the_first_there_is_none(stores: Stores) -> None:
    assert await stores.snapshots.latest() is None
    assert await stores.snapshots.newest_revision() == 0


async def test_revisions_count_up_and_the_content_stays(stores: Stores) -> None:
    first = await stores.snapshots.append(snapshot(0.5), 0)
    second = await stores.snapshots.append(snapshot(0.6), 1)
    assert (first.revision, second.revision) == (1, 2)
    assert await stores.snapshots.latest() == second
    assert await stores.snapshots.newest_revision() == 2
    assert await stores.snapshots.at(1) == first == replace(snapshot(0.5), revision=1)


async def test_a_published_snapshot_goes_forward_over_a_store_that_went_back(
    stores: Stores,
) -> None:
    await stores.snapshots.append(snapshot(0.5), 0)
    published = replace(snapshot(0.6), revision=7)
    forward = await stores.snapshots.append(published, 1)
    assert forward == replace(published, revision=8)
    assert await stores.snapshots.latest() == forward
    assert (await stores.snapshots.append(snapshot(0.7), 8)).revision == 9
    assert await stores.snapshots.keep(1) == 2


def test_the_stored_bytes_are_canonical() -> None:
    made = snapshot(0.3)
    assert snapshots.encode(made) == canonical.encode(made.content)
    assert snapshots.decode(snapshots.encode(made), 0) == made


async def test_another_revision_is_a_conflict(stores: Stores) -> None:
    await stores.snapshots.append(snapshot(), 0)
    for expected in (0, 2):
        with pytest.raises(Conflict) as caught:
            await stores.snapshots.append(snapshot(0.7), expected)
        assert caught.value.code == "revision_conflict"
    latest = await stores.snapshots.latest()
    assert latest is not None
    assert latest.version == snapshot().version


async def test_of_two_writers_one_wins(stores: Stores) -> None:
    answers = await asyncio.gather(
        *(stores.snapshots.append(snapshot(0.5 + n / 100), 0) for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(a, Snapshot) for a in answers) == 1
    assert sum(isinstance(a, Conflict) for a in answers) == 7


@pytest.mark.parametrize("revision", [-1, 0, 2])
async def test_an_unknown_revision_is_not_found(stores: Stores, revision: int) -> None:
    await stores.snapshots.append(snapshot(), 0)
    with pytest.raises(NotFound):
        await stores.snapshots.at(revision)


async def test_the_newest_are_kept_and_revisions_go_on(stores: Stores) -> None:
    assert await stores.snapshots.keep(2) == 0
    for n in range(5):
        await stores.snapshots.append(snapshot(0.5 + n / 100), n)
    assert await stores.snapshots.keep(5) == 0
    assert await stores.snapshots.keep(2) == 3
    assert await stores.snapshots.keep(2) == 0
    with pytest.raises(NotFound):
        await stores.snapshots.at(3)
    assert (await stores.snapshots.at(4)).version == snapshot(0.53).version
    assert (await stores.snapshots.append(snapshot(), 5)).revision == 6


async def test_many_are_dropped_in_several_transactions(stores: Stores) -> None:
    for n in range(220):
        await stores.snapshots.append(snapshot(), n)
    assert await stores.snapshots.keep(7) == 213
    latest = await stores.snapshots.latest()
    assert latest is not None
    assert latest.revision == 220
