"""Generations of the declared fleet; all are kept, the newest counts."""

import asyncio

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import FLEETS
from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.topology import Fleet
from controlplane.ports.stores import StoredFleet


class SqlFleetStore:
    """FleetStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> StoredFleet:
        """The newest fleet; an empty one with generation 0 when none was ever declared."""
        query = select(FLEETS).order_by(FLEETS.c.generation.desc()).limit(1)

        async def work(connection: AsyncConnection) -> tuple[int, bytes] | None:
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else (row.generation, row.body)

        found = await self._database.read(work)
        if found is None:
            return StoredFleet(fleet=Fleet(), generation=0)
        # A fleet of 1,000 services takes longer than the loop may be held up.
        fleet = await asyncio.to_thread(canonical.decode, Fleet, found[1])
        return StoredFleet(fleet=fleet, generation=found[0])

    async def at(self, generation: int) -> Fleet:
        """The fleet of a generation; NotFound."""
        query = select(FLEETS.c.body).where(FLEETS.c.generation == generation)

        async def work(connection: AsyncConnection) -> bytes | None:
            return await connection.scalar(query)

        body = await self._database.read(work)
        if body is None:
            raise NotFound("generation_not_found", f"no fleet has the generation {generation}")
        return await asyncio.to_thread(canonical.decode, Fleet, body)

    async def replace(
        self, fleet: Fleet, expected_generation: int, audit: AuditEntry, after: int = 0
    ) -> StoredFleet:
        """Store the next generation and its audit entry; Conflict when the newest is another."""
        body = await asyncio.to_thread(canonical.encode, fleet)
        generation = max(expected_generation, after) + 1

        async def work(connection: AsyncConnection) -> None:
            newest = await connection.scalar(select(func.max(FLEETS.c.generation))) or 0
            if newest != expected_generation:
                raise Conflict(
                    "generation_conflict",
                    f"the newest fleet has generation {newest}, the change was made from "
                    f"{expected_generation}: read the fleet again and repeat the change",
                    {"newest": newest, "expected": expected_generation},
                )
            row = {"generation": generation, "body": body}
            await connection.execute(insert(FLEETS), row)
            await append_entry(connection, audit)

        await self._database.write(work)
        return StoredFleet(fleet=fleet, generation=generation)
