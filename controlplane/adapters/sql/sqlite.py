"""The embedded database: one SQLite file in write-ahead mode, one writer and several readers.

`database` runs transactions on the two lanes made here. One writing connection gives every
writer its turn in order; SQLite's own lock polls and is not fair.
"""

import asyncio
import os
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

import aiosqlite
from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from controlplane.adapters.sql.outages import Reason, unavailable

READERS = 4
# The log beside the file is cut back to this after a checkpoint.
WAL_LIMIT_BYTES = 64 * 1024 * 1024
PRAGMAS = ("journal_mode=WAL", "foreign_keys=ON", f"journal_size_limit={WAL_LIMIT_BYTES}")


class Durability(StrEnum):
    """What a commit waits for; the values are SQLite's `synchronous`.

    FULL survives a power loss (one fsync per commit); NORMAL survives a crash of the process and
    may lose the last seconds at a power loss, never the file's consistency.
    """

    FULL = "FULL"
    NORMAL = "NORMAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """The file by path and by what the system calls it: a path may come to name another file."""

    path: Path
    device: int
    inode: int

    def check(self) -> None:
        """Raise `store_unavailable` when the path no longer names the file that was opened.

        A commit would still succeed then, into a file without a name, and be lost at the end.
        """
        try:
            now = os.stat(self.path)  # noqa: PTH116  (three times as fast as Path.stat)
        except FileNotFoundError as error:
            raise unavailable(Reason.FILE_REPLACED, f"{self.path} is gone") from error
        if (now.st_dev, now.st_ino) != (self.device, self.inode):
            raise unavailable(Reason.FILE_REPLACED, f"{self.path} is another file now")


def open_file(path: Path) -> DatabaseFile:
    """Find the file or make an empty one that only its owner may read (it holds digests)."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600, exist_ok=True)
    found = path.stat()
    return DatabaseFile(path=path, device=found.st_dev, inode=found.st_ino)


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


async def _connect(file: DatabaseFile, wait_s: float) -> aiosqlite.Connection:
    opening = aiosqlite.connect(
        # mode=rw: a file that disappeared must not come back empty.
        f"file:{quote(str(file.path.absolute()))}?mode=rw",
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
