"""The embedded database: one SQLite file in write-ahead mode, one writer and several readers.

`database` runs transactions on the two lanes made here. One writing connection gives every
writer its turn in order; SQLite's own lock polls and is not fair.
"""

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

import aiosqlite
from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from controlplane.adapters.sql.database_file import DatabaseFile

READERS = 4
# The log beside the file is cut back to this after a checkpoint.
WAL_LIMIT_BYTES = 64 * 1024 * 1024
# Writes one page and changes nothing that is read.
PROBE = "PRAGMA user_version = 1"
PRAGMAS = ("journal_mode=WAL", "foreign_keys=ON", f"journal_size_limit={WAL_LIMIT_BYTES}")


class Durability(StrEnum):
    """What a commit waits for; the values are SQLite's `synchronous`.

    FULL survives a power loss (one fsync per commit); NORMAL survives a crash of the process and
    may lose the last seconds at a power loss, never the file's consistency.
    """

    FULL = "FULL"
    NORMAL = "NORMAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """All open handles of one database.

    Attributes:
        anchor: does nothing, so that the log keeps its identity while other connections come and
            go, and everything can be read from it when the files have lost their names.
    """

    file: DatabaseFile
    anchor: sqlite3.Connection
    writer: AsyncEngine
    readers: AsyncEngine

    async def warm(self) -> None:
        """Open all connections now: nobody can open one once the path names no file."""
        async with AsyncExitStack() as stack:
            for engine in (self.writer, *READERS * (self.readers,)):
                await stack.enter_async_context(engine.connect())

    async def close(self, wait_s: float) -> None:
        """Close all connections, those in use when they come back, for `wait_s` at most."""
        clock = asyncio.get_running_loop().time
        end_s = clock() + wait_s
        # The pools tell nobody when a connection comes back.
        while clock() < end_s and any(map(_in_use, (self.writer, self.readers))):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        # The last one to close writes the log into the database, and may hang with its disk:
        # that one must be on a thread that does not keep the process from ending.
        await asyncio.to_thread(self.anchor.close)
        await self.readers.dispose()
        await self.writer.dispose()


async def open_lanes(file: DatabaseFile, wait_s: float) -> Lanes:
    """Open a database; `wait_s` bounds each later wait for a connection or a lock."""
    anchor = await asyncio.to_thread(_anchor, file, wait_s)
    whole = file.with_companions()
    return Lanes(
        file=whole, anchor=anchor, writer=writer(whole, wait_s), readers=readers(whole, wait_s)
    )


def writer(file: DatabaseFile, wait_s: float) -> AsyncEngine:
    """The lane of one connection that writes; `wait_s` bounds the wait for its turn."""
    engine = _engine(file, 1, wait_s)

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        level = connection.get_execution_options().get("durability", Durability.FULL)
        if connection.info.get("durability") != level:
            connection.exec_driver_sql(f"PRAGMA synchronous={level.value}")
            connection.info["durability"] = level
        # A deferred one may fail in the middle, when its first write finds a newer state.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def readers(file: DatabaseFile, wait_s: float) -> AsyncEngine:
    """The lane of connections that only read, each from one consistent state."""
    engine = _engine(file, READERS, wait_s)

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _engine(file: DatabaseFile, size: int, wait_s: float) -> AsyncEngine:
    return create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(file.path)),
        async_creator=lambda: _connect(file, wait_s),
        pool_size=size,
        max_overflow=0,
        pool_timeout=wait_s,
    )


def _in_use(engine: AsyncEngine) -> bool:
    pool = engine.pool
    return isinstance(pool, QueuePool) and pool.checkedout() > 0


def _address(file: DatabaseFile) -> str:
    # mode=rw: a file that disappeared must not come back empty.
    return f"file:{quote(str(file.path.absolute()))}?mode=rw"


def _anchor(file: DatabaseFile, wait_s: float) -> sqlite3.Connection:
    anchor = sqlite3.connect(
        _address(file), uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
    try:
        file.check()
        for pragma in PRAGMAS:
            anchor.execute(f"PRAGMA {pragma}").fetchall()
        # The log and its index are made by the first reader.
        anchor.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        anchor.close()
        raise
    return anchor


async def _connect(file: DatabaseFile, wait_s: float) -> aiosqlite.Connection:
    opening = aiosqlite.connect(
        _address(file),
        uri=True,
        timeout=wait_s,
        # Transactions are begun by the listeners; the driver's own habit is to begin late.
        isolation_level=None,
    )
    # A disk that hangs must not keep the process from ending.
    opening._thread.daemon = True
    try:
        connection = await opening
    except sqlite3.Error:
        # The thread ends by itself, but tells a loop that may be closed by then.
        await asyncio.to_thread(opening._thread.join, wait_s)
        raise
    try:
        file.check()
        for pragma in PRAGMAS:
            await connection.execute_fetchall(f"PRAGMA {pragma}")
    except BaseException:
        await connection.close()
        raise
    return connection
