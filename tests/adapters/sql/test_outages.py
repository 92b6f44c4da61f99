"""A database that is locked, full, read-only, damaged, moved or slow: said so, and nothing lost."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.outages import Reason, translated
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.errors import Retryable
from tests.ports.examples import entry, fleet

DEADLINE_S = 0.3


async def open_stores(directory: Path) -> SqlStores:
    return await SqlStores.open(
        sqlite_url(directory / "signalbox.db"),
        ModelFiles(directory / "models", learned),
        DEADLINE_S,
    )


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[SqlStores]:
    opened = await open_stores(tmp_path)
    await opened.audit.append(entry("before"))
    yield opened
    await opened.close()


async def actions(stores: SqlStores) -> list[str]:
    return [found.action for found in await stores.audit.recent(99)]


async def refused(stores: SqlStores) -> Reason:
    with pytest.raises(Retryable) as caught:
        await stores.audit.append(entry("refused"))
    assert caught.value.code == "store_unavailable"
    assert caught.value.after_s > 0
    return Reason(str(caught.value.details["reason"]))


async def on_the_writer(stores: SqlStores, statement: str) -> None:
    """Run a statement on the writing connection outside of any transaction."""
    async with stores.database._writer.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.execute(statement)


async def test_locked_by_another_process(stores: SqlStores, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "signalbox.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert await refused(stores) is Reason.LOCKED
    assert await actions(stores) == ["before"]
    other.execute("ROLLBACK")
    other.close()
    await stores.audit.append(entry("after"))
    assert await actions(stores) == ["after", "before"]


async def test_full(stores: SqlStores) -> None:
    await on_the_writer(stores, "PRAGMA max_page_count = 1")
    with pytest.raises(Retryable) as caught:
        await stores.audit.append(entry("refused", after="x" * 100_000))
    assert caught.value.details["reason"] == Reason.FULL
    assert await actions(stores) == ["before"]
    await on_the_writer(stores, "PRAGMA max_page_count = 1000000")
    await stores.audit.append(entry("after", after="x" * 100_000))
    assert await actions(stores) == ["after", "before"]


async def test_read_only(stores: SqlStores) -> None:
    await on_the_writer(stores, "PRAGMA query_only = ON")
    assert await refused(stores) is Reason.READ_ONLY
    assert await actions(stores) == ["before"]
    await on_the_writer(stores, "PRAGMA query_only = OFF")
    await stores.audit.append(entry("after"))


async def test_half_a_change_is_no_change(stores: SqlStores) -> None:
    await on_the_writer(stores, "PRAGMA max_page_count = 1")
    with pytest.raises(Retryable):
        await stores.fleets.replace(fleet(), 0, entry("refused", after="x" * 100_000))
    assert (await stores.fleets.load()).generation == 0
    assert await actions(stores) == ["before"]


async def test_file_moved_away_and_back(stores: SqlStores, tmp_path: Path) -> None:
    await actions(stores)
    path, aside = tmp_path / "signalbox.db", tmp_path / "aside.db"
    path.rename(aside)
    assert await refused(stores) is Reason.FILE_REPLACED
    assert await actions(stores) == ["before"]
    assert not path.exists()
    aside.rename(path)
    await stores.audit.append(entry("after"))
    assert await actions(stores) == ["after", "before"]


async def test_file_replaced_by_a_copy(stores: SqlStores, tmp_path: Path) -> None:
    await actions(stores)
    path = tmp_path / "signalbox.db"
    shutil.copy(path, tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(path)
    assert await refused(stores) is Reason.FILE_REPLACED
    assert await actions(stores) == ["before"]


async def test_a_new_connection_never_opens_another_file(stores: SqlStores, tmp_path: Path) -> None:
    (tmp_path / "signalbox.db").unlink()
    answers = await asyncio.gather(*(actions(stores) for _ in range(4)), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, Retryable):
            assert answer.details["reason"] == Reason.CANNOT_OPEN
        else:
            assert answer == ["before"]
    assert not (tmp_path / "signalbox.db").exists()


async def test_not_a_database_at_start(tmp_path: Path) -> None:
    (tmp_path / "signalbox.db").write_bytes(b"nonsense" * 1_000)
    with pytest.raises(Retryable) as caught:
        await open_stores(tmp_path)
    assert caught.value.details["reason"] == Reason.DAMAGED
    assert (tmp_path / "signalbox.db").read_bytes() == b"nonsense" * 1_000


async def test_a_directory_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "signalbox.db").mkdir()
    with pytest.raises(Retryable) as caught:
        await open_stores(tmp_path)
    assert caught.value.details["reason"] == Reason.CANNOT_OPEN


async def test_work_past_its_deadline_is_not_committed_later(stores: SqlStores) -> None:
    async def slow(connection: AsyncConnection) -> None:
        await connection.execute(text("INSERT INTO snapshots VALUES (7, 'v', x'00')"))
        await asyncio.sleep(2 * DEADLINE_S)

    loop = asyncio.get_running_loop()
    start = loop.time()
    with pytest.raises(Retryable) as caught:
        await stores.database.write(slow)
    assert caught.value.details["reason"] == Reason.DEADLINE
    assert loop.time() - start < 1.5 * DEADLINE_S
    await asyncio.sleep(2 * DEADLINE_S)
    assert await stores.snapshots.latest() is None
    await stores.audit.append(entry("after"))


async def test_waiting_for_the_writer_ends_with_the_deadline(stores: SqlStores) -> None:
    async def slow(_: AsyncConnection) -> None:
        await asyncio.sleep(2 * DEADLINE_S)

    running = asyncio.create_task(stores.database.write(slow))
    await asyncio.sleep(0)
    assert await refused(stores) is Reason.DEADLINE
    with pytest.raises(Retryable):
        await running


async def test_a_cancelled_write_frees_its_connection(stores: SqlStores) -> None:
    async def slow(_: AsyncConnection) -> None:
        await asyncio.sleep(DEADLINE_S / 2)

    running = asyncio.create_task(stores.database.write(slow))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await stores.audit.append(entry("after"))


async def test_closed(stores: SqlStores) -> None:
    await stores.close()
    assert await refused(stores) is Reason.CLOSED


def test_a_lost_connection_of_another_database_is_an_outage() -> None:
    with pytest.raises(Retryable) as caught, translated():
        raise OperationalError("SELECT 1", {}, Exception("server closed the connection"))
    assert caught.value.details["reason"] == Reason.AWAY


def test_a_broken_constraint_is_no_outage() -> None:
    with pytest.raises(IntegrityError), translated():
        raise IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed"))
