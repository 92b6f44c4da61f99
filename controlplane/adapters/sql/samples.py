"""Raw samples: many small rows, written in batches, dropped after a set time."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import SAMPLES
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain.telemetry import Sample

# Rows per transaction: a snapshot that wants to be stored waits for one batch at most.
BATCH = 1_000
_NAMES = tuple(column.name for column in SAMPLES.c)


class SqlSampleStore:
    """SampleStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, samples: Sequence[Sample]) -> None:
        """Store samples, `BATCH` per transaction; the same key replaces the earlier one."""
        for start in range(0, len(samples), BATCH):
            await self._append_batch(samples[start : start + BATCH])

    async def since(self, service: str, time_s: float) -> list[Sample]:
        """Samples of one service with sender's time >= `time_s`, by time, then data centre."""
        query = (
            select(SAMPLES)
            .where(SAMPLES.c.service == service, SAMPLES.c.time_s >= time_s)
            .order_by(SAMPLES.c.time_s, SAMPLES.c.datacenter)
        )

        async def work(connection: AsyncConnection) -> list[Sample]:
            rows = await connection.execute(query)
            return [Sample(**dict(zip(_NAMES, row, strict=True))) for row in rows]

        return await self._database.read(work)

    async def prune(self, before_s: float) -> int:
        """Drop samples with sender's time < `before_s`, service by service; how many went."""

        async def services(connection: AsyncConnection) -> list[str]:
            return list((await connection.execute(select(SAMPLES.c.service).distinct())).scalars())

        pruned = 0
        for service in await self._database.read(services):
            pruned += await self._prune_service(service, before_s)
        return pruned

    async def _append_batch(self, samples: Sequence[Sample]) -> None:
        rows = [{name: getattr(sample, name) for name in _NAMES} for sample in samples]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_replace(connection, SAMPLES), rows)

        await self._database.write(work, Durability.NORMAL)

    async def _prune_service(self, service: str, before_s: float) -> int:
        old = delete(SAMPLES).where(SAMPLES.c.service == service, SAMPLES.c.time_s < before_s)

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(old)).rowcount

        return await self._database.write(work, Durability.NORMAL)
