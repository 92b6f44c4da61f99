"""Generations of the declared fleet and revisions of its routes; all are kept."""

import asyncio
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import FLEETS, ROUTE_REVISIONS
from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.topology import Fleet
from controlplane.ports.stores import StoredFleet

# Each change of one route stores all of them: 10,000 are 1 MB, and a twentieth of it packed.
PACKED_BYTES = 100_000
# A document begins with a brace.
PACKED_START = b"\x78"


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
        fleet = await asyncio.to_thread(_unpacked, found[1])
        return StoredFleet(fleet=fleet, generation=found[0])

    async def at(self, generation: int) -> Fleet:
        """The fleet of a generation; NotFound."""
        query = select(FLEETS.c.body).where(FLEETS.c.generation == generation)

        async def work(connection: AsyncConnection) -> bytes | None:
            return await connection.scalar(query)

        body = await self._database.read(work)
        if body is None:
            raise NotFound("generation_not_found", f"no fleet has the generation {generation}")
        return await asyncio.to_thread(_unpacked, body)

    async def replace(
        self,
        fleet: Fleet,
        expected_generation: int,
        audit: AuditEntry,
        after: int = 0,
        revisions: Sequence[RouteRevision] = (),
    ) -> StoredFleet:
        """Store the next generation with all that belongs to it; Conflict when the newest is
        another."""
        body = await asyncio.to_thread(_packed, fleet)
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
            if revisions:
                rows = [_row(revision, generation) for revision in revisions]
                await connection.execute(insert(ROUTE_REVISIONS), rows)
            await append_entry(connection, audit)

        await self._database.write(work)
        return StoredFleet(fleet=fleet, generation=generation)

    async def revisions(
        self, route: str | None, limit: int, before: int | None = None
    ) -> list[RouteRevision]:
        """Newest first, of one route or of all; those with a number below `before` if given."""
        query = select(ROUTE_REVISIONS).order_by(ROUTE_REVISIONS.c.number.desc()).limit(limit)
        if route is not None:
            query = query.where(ROUTE_REVISIONS.c.route == route)
        if before is not None:
            query = query.where(ROUTE_REVISIONS.c.number < before)

        async def work(connection: AsyncConnection) -> list[RouteRevision]:
            return [_revision(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def revision(self, number: int) -> RouteRevision:
        """One revision; NotFound."""
        query = select(ROUTE_REVISIONS).where(ROUTE_REVISIONS.c.number == number)

        async def work(connection: AsyncConnection) -> RouteRevision | None:
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else _revision(row)

        found = await self._database.read(work)
        if found is None:
            raise NotFound("revision_not_found", f"no route has a revision {number}")
        return found


def _packed(fleet: Fleet) -> bytes:
    body = canonical.encode(fleet)
    return body if len(body) < PACKED_BYTES else zlib.compress(body, 1)


def _unpacked(body: bytes) -> Fleet:
    text = zlib.decompress(body) if body.startswith(PACKED_START) else body
    return canonical.decode(Fleet, text)


def _row(revision: RouteRevision, generation: int) -> dict[str, object]:
    columns = (column.name for column in ROUTE_REVISIONS.c if column.name != "number")
    return {name: getattr(revision, name) for name in columns} | {"generation": generation}


def _revision(row: Row[Any]) -> RouteRevision:
    return RouteRevision(**row._mapping)
