"""Raw samples: many small rows, written in batches; `minutes` takes them away when they are old."""

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import SAMPLES
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain.retraining import Coverage
from controlplane.domain.telemetry import Sample

# Rows per transaction. Written: the loop prepares 500 rows in some 5 ms, and a snapshot that wants
# to be stored waits for one batch at most. Read: far within a call's deadline.
WRITE_ROWS = 500
READ_ROWS = 5_000
_NAMES = tuple(column.name for column in SAMPLES.c)


class SqlSampleStore:
    """SampleStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, samples: Sequence[Sample]) -> None:
        """Store samples, `WRITE_ROWS` per transaction; the same key replaces the earlier one."""
        for start in range(0, len(samples), WRITE_ROWS):
            await self._append_batch(samples[start : start + WRITE_ROWS])

    async def since(self, service: str, time_s: float) -> list[Sample]:
        """Samples of one service with sender's time >= `time_s`, by time, then data centre."""
        found: list[Sample] = []
        after = (time_s, "")
        while page := await self.page(service, after):
            found += page
            after = (page[-1].time_s, page[-1].datacenter)
        return found

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """The next `READ_ROWS` samples behind a (time, data centre), in that order."""
        # Thousands of rows take longer than the loop may be held up.
        return await asyncio.to_thread(_samples, await self._page(service, after))

    async def coverage(self, service: str) -> Coverage:
        """Time of the oldest sample, and how many times there are."""
        times = (func.min(SAMPLES.c.time_s), func.count(SAMPLES.c.time_s.distinct()))
        query = select(*times).where(SAMPLES.c.service == service)

        async def work(connection: AsyncConnection) -> tuple[float | None, int]:
            first_s, rows = (await connection.execute(query)).one()
            return first_s, rows

        first_s, rows = await self._database.read(work)
        return Coverage() if first_s is None else Coverage(first_s=first_s, rows=rows)

    async def heard_s(self, service: str) -> float | None:
        """Time of the newest sample; None without one."""
        query = select(func.max(SAMPLES.c.time_s)).where(SAMPLES.c.service == service)

        async def work(connection: AsyncConnection) -> float | None:
            newest_s: float | None = await connection.scalar(query)
            return newest_s

        return await self._database.read(work)

    async def _page(self, service: str, after: tuple[float, str]) -> Sequence[Row[Any]]:
        query = (
            select(SAMPLES)
            .where(
                SAMPLES.c.service == service,
                tuple_(SAMPLES.c.time_s, SAMPLES.c.datacenter) > after,
            )
            .order_by(SAMPLES.c.time_s, SAMPLES.c.datacenter)
            .limit(READ_ROWS)
        )

        async def work(connection: AsyncConnection) -> Sequence[Row[Any]]:
            return (await connection.execute(query)).all()

        return await self._database.read(work)

    async def _append_batch(self, samples: Sequence[Sample]) -> None:
        rows = [{name: getattr(sample, name) for name in _NAMES} for sample in samples]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_replace(connection, SAMPLES), rows)

        await self._database.write(work, Durability.NORMAL)


def _samples(rows: Sequence[Row[Any]]) -> list[Sample]:
    return [Sample(**dict(zip(_NAMES, row, strict=True))) for row in rows]
