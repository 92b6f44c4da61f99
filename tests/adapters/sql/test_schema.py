"""The file: made and migrated at start, guarded, and as durable as promised."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.adapters.sql.tables import METADATA
from controlplane.domain.errors import Conflict, Invalid
from tests.ports.examples import entry, fleet, sample, snapshot


async def open_stores(directory: Path) -> SqlStores:
    return await SqlStores.open(
        sqlite_url(directory / "signalbox.db"), ModelFiles(directory / "models", learned)
    )


async def test_the_migrations_make_the_tables(tmp_path: Path) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), METADATA))

    stores = await open_stores(tmp_path)
    try:
        assert await stores.database.read(lambda c: c.run_sync(differences)) == []
    finally:
        await stores.close()


@pytest.mark.parametrize("name", ["plain", "deep/er", "with space", "100%", "a?b#c", "数据"])
async def test_any_path_is_made_and_found_again(tmp_path: Path, name: str) -> None:
    for generation in range(2):
        stores = await open_stores(tmp_path / name)
        await stores.fleets.replace(fleet(), generation, entry())
        await stores.close()
    path = tmp_path / name / "signalbox.db"
    assert path.stat().st_mode & 0o077 == 0


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    await (await open_stores(tmp_path)).close()
    raw = sqlite3.connect(tmp_path / "signalbox.db")
    with raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Invalid, match="9999") as caught:
        await open_stores(tmp_path)
    assert caught.value.code == "store_schema_unknown"
    assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
    raw.close()


@pytest.mark.parametrize(
    "url", ["postgresql+asyncpg://user:secret@host/db", "sqlite+aiosqlite://", "nonsense"]
)
async def test_another_database_is_refused_without_its_secret(tmp_path: Path, url: str) -> None:
    with pytest.raises(Invalid) as caught:
        await SqlStores.open(url, ModelFiles(tmp_path, learned))
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET author = 'nobody'",
        "DELETE FROM audit",
        "REPLACE INTO audit SELECT id, 0, '', '', '', '', '', '' FROM audit",
    ],
)
async def test_the_audit_log_is_append_only(tmp_path: Path, statement: str) -> None:
    stores = await open_stores(tmp_path)
    await stores.audit.append(entry())
    raw = sqlite3.connect(tmp_path / "signalbox.db")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), raw:
        raw.execute(statement)
    raw.close()
    assert await stores.audit.recent(9) == [entry()]
    await stores.close()


@pytest.mark.parametrize(("durability", "level"), [(Durability.FULL, 2), (Durability.NORMAL, 1)])
async def test_commits_wait_for_the_disk_as_asked(
    tmp_path: Path, durability: Durability, level: int
) -> None:
    async def work(connection: AsyncConnection) -> object:
        return await connection.scalar(text("PRAGMA synchronous"))

    stores = await open_stores(tmp_path)
    other = Durability.NORMAL if durability is Durability.FULL else Durability.FULL
    try:
        await stores.database.write(work, other)
        assert await stores.database.write(work, durability) == level
    finally:
        await stores.close()


async def test_two_services_on_one_file_conflict_instead_of_overwriting(tmp_path: Path) -> None:
    one, two = await open_stores(tmp_path), await open_stores(tmp_path)
    await one.snapshots.append(snapshot(0.5), 0)
    with pytest.raises(Conflict):
        await two.snapshots.append(snapshot(0.6), 0)
    await two.snapshots.append(snapshot(0.6), 1)
    latest = await one.snapshots.latest()
    assert latest is not None
    assert latest.revision == 2
    await one.close()
    await two.close()


async def test_a_snapshot_does_not_wait_for_a_burst_of_samples(tmp_path: Path) -> None:
    stores = await open_stores(tmp_path)
    burst = [sample(float(n)) for n in range(20_000)]
    writing = asyncio.create_task(stores.samples.append(burst))
    await asyncio.sleep(0.02)
    await stores.snapshots.append(snapshot(), 0)
    assert not writing.done()
    await writing
    await stores.close()


CHILD = """
import asyncio, sys
from pathlib import Path
from tests.adapters.sql.test_schema import open_stores
from tests.ports.examples import entry

async def main():
    stores = await open_stores(Path(sys.argv[1]))
    for n in range(100_000):
        await stores.audit.append(entry(str(n)))
        print(n, flush=True)

asyncio.run(main())
"""


async def test_no_acknowledged_write_is_lost_by_a_kill(tmp_path: Path) -> None:
    acknowledged = await asyncio.to_thread(_killed_while_writing, tmp_path)
    assert len(acknowledged) >= 50
    stores = await open_stores(tmp_path)
    kept = {found.action for found in await stores.audit.recent(200_000)}
    assert acknowledged <= kept
    await stores.close()


def _killed_while_writing(directory: Path) -> set[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(50)]
    os.kill(child.pid, signal.SIGKILL)
    lines += child.stdout.readlines()
    child.stdout.close()
    child.wait()
    return {line.decode().strip() for line in lines if line.endswith(b"\n")}
