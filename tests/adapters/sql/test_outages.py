"""A database that is locked, full, read-only, damaged, moved or slow: said so, and nothing lost."""

import asyncio
import errno
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.database_file import DatabaseFile
from controlplane.adapters.sql.outages import Reason, translated
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.errors import Refused, Retryable
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
    async with stores.database._lanes.writer.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.execute(statement)


async def test_locked_by_another_process(stores: SqlStores, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "signalbox.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    reason = await refused(stores)
    for _ in range(4):
        # A machine that has no time for us is at the deadline before the lock has been waited for.
        reason = reason if reason is not Reason.DEADLINE else await refused(stores)
    assert reason is Reason.LOCKED
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
    assert await refused(stores) is Reason.FILE_GONE
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


async def test_all_readers_are_open_before_the_file_goes(stores: SqlStores, tmp_path: Path) -> None:
    (tmp_path / "signalbox.db").unlink()
    answers = await asyncio.gather(*(actions(stores) for _ in range(20)))
    assert answers == [["before"]] * 20
    assert not (tmp_path / "signalbox.db").exists()


@pytest.mark.parametrize("other", [None, b"theirs"])
async def test_a_new_connection_never_opens_another_file(
    stores: SqlStores, tmp_path: Path, other: bytes | None
) -> None:
    await stores.database._lanes.readers.dispose()
    (tmp_path / "signalbox.db").unlink()
    if other is not None:
        (tmp_path / "signalbox.db").write_bytes(other)
    with pytest.raises(Retryable) as caught:
        await actions(stores)
    expected = Reason.CANNOT_OPEN if other is None else Reason.FILE_REPLACED
    assert caught.value.details["reason"] == expected
    assert (tmp_path / "signalbox.db").exists() is (other is not None)


FILES = ("signalbox.db", "signalbox.db-wal", "signalbox.db-shm")


@pytest.mark.parametrize("lost", [FILES[:1], FILES, FILES[1:], FILES[1:2], FILES[2:]])
async def test_a_lost_file_is_written_back_with_everything(
    stores: SqlStores, tmp_path: Path, lost: tuple[str, ...]
) -> None:
    for number in range(20):
        await stores.audit.append(entry(f"a{number}"))
    expected = await actions(stores)
    for name in lost:
        (tmp_path / name).unlink()
    assert await refused(stores) is Reason.FILE_GONE
    await stores.database.put_back()
    await stores.audit.append(entry("after"))
    await stores.close()
    again = await open_stores(tmp_path)
    assert await actions(again) == ["after", *expected]
    await again.close()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"signalbox.db", "signalbox.db.known"}
    assert (tmp_path / "signalbox.db").stat().st_mode & 0o077 == 0


async def test_a_lost_folder_is_made_again(tmp_path: Path) -> None:
    stores = await open_stores(tmp_path / "data")
    await stores.audit.append(entry("before"))
    shutil.rmtree(tmp_path / "data")
    assert await refused(stores) is Reason.FILE_GONE
    await stores.database.put_back()
    assert await actions(stores) == ["before"]
    await stores.audit.append(entry("after"))
    await stores.close()


@pytest.mark.parametrize("name", FILES[:2])
async def test_another_file_is_never_overwritten(
    stores: SqlStores, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"theirs")
    assert await refused(stores) is Reason.FILE_REPLACED
    if name == FILES[0]:
        with pytest.raises(Retryable) as caught:
            await stores.database.put_back()
        assert caught.value.details["reason"] == Reason.FILE_REPLACED
    assert (tmp_path / name).read_bytes() == b"theirs"
    (tmp_path / name).unlink()
    await stores.database.put_back()
    await stores.audit.append(entry("after"))
    assert await actions(stores) == ["after", "before"]


async def test_a_way_back_that_fails_half_way_is_tried_again(
    stores: SqlStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "signalbox.db").unlink()

    def full(file: DatabaseFile) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseFile, "remember", full)
        with pytest.raises(Retryable) as caught:
            await stores.database.put_back()
    assert caught.value.details["reason"] == Reason.FULL
    assert await refused(stores) is Reason.FILE_GONE
    assert await actions(stores) == ["before"]
    await stores.database.put_back()
    await stores.audit.append(entry("after"))
    assert await actions(stores) == ["after", "before"]


async def test_a_crash_on_the_way_back_loses_nothing(stores: SqlStores, tmp_path: Path) -> None:
    """The copy has its name already, the log of the lost file still stands beside it."""
    for number in range(20):
        await stores.audit.append(entry(f"a{number}", after="x" * 5_000))
    expected = await actions(stores)
    (tmp_path / "signalbox.db").unlink()
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    shutil.copy(tmp_path / "signalbox.db-wal", crashed / "signalbox.db-wal")
    await stores.database.put_back()
    shutil.copy(tmp_path / "signalbox.db", crashed / "signalbox.db")
    again = await open_stores(crashed)
    assert await actions(again) == expected
    await again.audit.append(entry("after"))
    await again.close()
    with closing(sqlite3.connect(crashed / "signalbox.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_readers_at_work_during_the_way_back_end_in_good_order(
    stores: SqlStores, tmp_path: Path
) -> None:
    async def slow(connection: AsyncConnection) -> int:
        await asyncio.sleep(DEADLINE_S / 2)
        return await connection.scalar(text("SELECT count(*) FROM audit")) or 0

    (tmp_path / "signalbox.db").unlink()
    reading = asyncio.create_task(stores.database.read(slow))
    await asyncio.sleep(0.02)
    await stores.database.put_back()
    assert await reading == 1


@pytest.mark.parametrize("content", [None, b""])
async def test_a_lost_database_is_no_first_start(tmp_path: Path, content: bytes | None) -> None:
    await (await open_stores(tmp_path)).close()
    path = tmp_path / "signalbox.db"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Refused) as caught:
        await open_stores(tmp_path)
    assert caught.value.code == "store_lost"
    (tmp_path / "signalbox.db.known").unlink()
    await (await open_stores(tmp_path)).close()


async def test_a_log_without_its_database_is_no_first_start(tmp_path: Path) -> None:
    (tmp_path / "signalbox.db-wal").write_bytes(b"acknowledged writes")
    with pytest.raises(Refused):
        await open_stores(tmp_path)
    assert (tmp_path / "signalbox.db-wal").exists()


async def test_a_probe_says_whether_something_can_be_written(stores: SqlStores) -> None:
    await stores.database.probe()
    await on_the_writer(stores, "PRAGMA query_only = ON")
    with pytest.raises(Retryable) as caught:
        await stores.database.probe()
    assert caught.value.details["reason"] == Reason.READ_ONLY


def test_an_unclear_error_is_asked_of_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> Reason:
        with pytest.raises(Retryable) as caught, translated(tmp_path):
            raise OSError(errno.EIO, "I/O error")
        return Reason(str(caught.value.details["reason"]))

    assert failing() is Reason.IO_ERROR
    real = os.statvfs(tmp_path)
    for field, value, reason in (("f_bavail", 0, Reason.FULL), ("f_flag", 1, Reason.READ_ONLY)):
        fields = {name: getattr(real, name) for name in ("f_bavail", "f_flag")} | {field: value}
        answer = SimpleNamespace(**fields)
        with monkeypatch.context() as patched:
            patched.setattr(os, "statvfs", lambda _, answer=answer: answer)
            assert failing() is reason
    monkeypatch.setattr(os, "statvfs", lambda _: Path("/nowhere").stat())
    assert failing() is Reason.IO_ERROR


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
