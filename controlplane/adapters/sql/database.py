"""Transactions with a deadline: the one way of the stores to the database.

A piece of work is an async function of a connection. Once its deadline is over it is not
committed any more, so that a call that was answered with `Retryable` does not succeed later
behind the caller's back (a commit that is already on its way is the exception; compare-and-set
and upserts make its repetition harmless). Nothing is repeated here, and nothing is repaired
unless `put_back` is called.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Self, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql import migrate, sqlite
from controlplane.adapters.sql.database_file import DatabaseFile, copy_back, found_file
from controlplane.adapters.sql.outages import Reason, translated, unavailable
from controlplane.adapters.sql.sqlite import Durability, Lanes

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]


class Database:
    """One open database. `deadline_s` bounds each call, waiting for a connection included."""

    def __init__(self, lanes: Lanes, deadline_s: float) -> None:
        self._lanes = lanes
        self._deadline_s = deadline_s
        self._late: set[asyncio.Task[object]] = set()
        self._closed = False

    @classmethod
    async def open(cls, file: DatabaseFile, deadline_s: float) -> Self:
        """Open the file and bring its schema up to date.

        A migration has no deadline: it takes what it takes.
        """
        with translated(file.path.parent):
            # SQLite gives up before our deadline, so that the answer can say that it is locked.
            database = cls(await sqlite.open_lanes(file, 0.8 * deadline_s), deadline_s)
            try:
                async with database._lanes.writer.connect() as connection, connection.begin():
                    await connection.run_sync(migrate.upgrade)
                await database._lanes.warm()
                await asyncio.to_thread(file.remember)
            except BaseException:
                await database.close()
                raise
        return database

    async def read(self, work: Work[T]) -> T:
        """Run work on one consistent state; Retryable when the database is away."""
        lanes = self._lanes

        async def reading() -> T:
            async with lanes.readers.connect() as connection, connection.begin():
                return await work(connection)

        return await self._within_deadline(reading())

    async def write(self, work: Work[T], durability: Durability = Durability.FULL) -> T:
        """Run work and commit all of it or nothing; Retryable when the database is away."""
        expires_s = asyncio.get_running_loop().time() + self._deadline_s
        lanes = self._lanes

        async def writing() -> T:
            async with lanes.writer.connect() as connection:
                await connection.execution_options(durability=durability)
                async with connection.begin():
                    result = await work(connection)
                    lanes.file.check()
                    if asyncio.get_running_loop().time() > expires_s:
                        raise unavailable(Reason.DEADLINE)
                return result

        return await self._within_deadline(writing())

    async def probe(self) -> None:
        """Write one page that changes nothing; Retryable says why nothing can be written."""

        async def work(connection: AsyncConnection) -> None:
            await connection.exec_driver_sql(sqlite.PROBE)

        await self.write(work, Durability.NORMAL)

    async def put_back(self) -> None:
        """Write all data to the path of a file that is gone, and go on there.

        Nothing can be acknowledged meanwhile. Raises Retryable when there is no room, no right,
        or another file at the path.
        """
        lanes = self._lanes
        path = lanes.file.path
        with translated(path.parent):
            # Holding the one writing connection: nobody commits while the copy is made.
            async with lanes.writer.connect() as connection, connection.begin():
                await asyncio.to_thread(copy_back, lanes.anchor, lanes.file)
                found = await asyncio.to_thread(found_file, path)
                # Until the new handles are open the old ones count as without their log, so a
                # failure from here on is one more file that is gone, and the call is repeated.
                self._lanes = replace(lanes, file=lanes.file.placed(found))
            self._lanes = await self._opened(found)
        await lanes.close(self._deadline_s)

    async def _opened(self, file: DatabaseFile) -> Lanes:
        lanes = await sqlite.open_lanes(file, 0.8 * self._deadline_s)
        try:
            await lanes.warm()
            await asyncio.to_thread(file.remember)
        except BaseException:
            await lanes.close(0.0)
            raise
        return lanes

    async def close(self) -> None:
        """End late work and all connections."""
        self._closed = True
        if self._late:
            await asyncio.wait(self._late, timeout=self._deadline_s)
        await self._lanes.close(0.0)

    async def _within_deadline(self, running: Coroutine[object, object, T]) -> T:
        if self._closed:
            running.close()
            raise unavailable(Reason.CLOSED)
        task = asyncio.create_task(running)
        try:
            await asyncio.wait({task}, timeout=self._deadline_s)
        finally:
            # The driver's thread cannot be stopped, and cancelling would wait for it: the task
            # ends by itself as soon as the disk answers, and rolls back.
            if not task.done():
                self._abandon(task)
        if not task.done():
            raise unavailable(Reason.DEADLINE, f"{self._deadline_s:g} s")
        with translated(self._lanes.file.path.parent):
            return task.result()

    def _abandon(self, task: asyncio.Task[T]) -> None:
        self._late.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[T]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()
