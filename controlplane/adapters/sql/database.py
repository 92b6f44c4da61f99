"""Transactions with a deadline: the one way of the stores to the database.

A piece of work is an async function of a connection. Once its deadline is over it is not
committed any more, so that a call that was answered with `Retryable` does not succeed later
behind the caller's back (a commit that is already on its way is the exception; compare-and-set
and upserts make its repetition harmless). Nothing is repeated here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from controlplane.adapters.sql import migrate, sqlite
from controlplane.adapters.sql.outages import Reason, translated, unavailable
from controlplane.adapters.sql.sqlite import DatabaseFile, Durability

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]


class Database:
    """One open database. `deadline_s` bounds each call, waiting for a connection included."""

    def __init__(self, file: DatabaseFile, deadline_s: float) -> None:
        self._file = file
        self._deadline_s = deadline_s
        # SQLite gives up first, so that the answer can say that it is locked.
        self._writer: AsyncEngine = sqlite.writer(file, 0.8 * deadline_s)
        self._readers: AsyncEngine = sqlite.readers(file, 0.8 * deadline_s)
        self._late: set[asyncio.Task[object]] = set()
        self._closed = False

    async def migrate(self) -> None:
        """Bring the schema up to date, without a deadline: a migration takes what it takes."""
        with translated():
            async with self._writer.connect() as connection, connection.begin():
                await connection.run_sync(migrate.upgrade)

    async def read(self, work: Work[T]) -> T:
        """Run work on one consistent state; Retryable when the database is away."""

        async def reading() -> T:
            async with self._readers.connect() as connection, connection.begin():
                return await work(connection)

        return await self._within_deadline(reading())

    async def write(self, work: Work[T], durability: Durability = Durability.FULL) -> T:
        """Run work and commit all of it or nothing; Retryable when the database is away."""
        expires_s = asyncio.get_running_loop().time() + self._deadline_s

        async def writing() -> T:
            async with self._writer.connect() as connection:
                await connection.execution_options(durability=durability)
                async with connection.begin():
                    result = await work(connection)
                    self._file.check()
                    if asyncio.get_running_loop().time() > expires_s:
                        raise unavailable(Reason.DEADLINE)
                return result

        return await self._within_deadline(writing())

    async def close(self) -> None:
        """End late work and all connections."""
        self._closed = True
        if self._late:
            await asyncio.wait(self._late, timeout=self._deadline_s)
        await self._readers.dispose()
        await self._writer.dispose()

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
        with translated():
            return task.result()

    def _abandon(self, task: asyncio.Task[T]) -> None:
        self._late.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[T]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()
