"""The last picture of health as canonical bytes, in a single row."""

import asyncio

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import HEALTH
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain import canonical
from controlplane.domain.health.picture import Health

ONLY_ROW = 1


class SqlHealthStore:
    """HealthStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> Health | None:
        """The picture that was kept last; None before the first."""

        async def work(connection: AsyncConnection) -> bytes | None:
            found = await connection.execute(select(HEALTH.c.body))
            return found.scalar_one_or_none()

        body = await self._database.read(work)
        return None if body is None else await asyncio.to_thread(canonical.decode, Health, body)

    async def keep(self, health: Health) -> None:
        """Keep a picture in place of the last one."""
        # A picture of 8,000 endpoints takes longer than the loop may be held up.
        body = await asyncio.to_thread(canonical.encode, health)

        async def work(connection: AsyncConnection) -> None:
            row = {"id": ONLY_ROW, "body": body}
            await connection.execute(insert_or_replace(connection, HEALTH), row)

        # The next start asks everybody again: the last second may be lost.
        await self._database.write(work, Durability.NORMAL)
