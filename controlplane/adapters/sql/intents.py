"""Intents as canonical bytes; each change of the register is one transaction."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import INTENTS
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.intents.intent import Intent


class SqlIntentStore:
    """IntentStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self) -> list[Intent]:
        """Those that have not ended, by number."""
        query = select(INTENTS.c.body).where(INTENTS.c.standing)
        return await self._intents(query.order_by(INTENTS.c.number))

    async def change(self) -> int:
        """Number of the newest change; 0 before the first."""

        async def work(connection: AsyncConnection) -> int:
            return await connection.scalar(select(func.max(INTENTS.c.change))) or 0

        return await self._database.read(work)

    async def put(
        self, intents: Sequence[Intent], expected_change: int, audit: Sequence[AuditEntry] = ()
    ) -> None:
        """Store intents, or their next states over the earlier ones, all or none; Conflict when
        the newest change is not `expected_change`."""
        rows = [
            {
                "number": one.number,
                "id": one.id,
                "change": one.change,
                "standing": one.standing,
                "body": canonical.encode(one),
            }
            for one in intents
        ]

        async def work(connection: AsyncConnection) -> None:
            newest = await connection.scalar(select(func.max(INTENTS.c.change))) or 0
            if newest != expected_change:
                raise Conflict(
                    "intents_changed",
                    f"the register of intents is at change {newest}, this one was made from "
                    f"{expected_change}: read the list again and repeat it",
                    {"newest": newest, "expected": expected_change},
                )
            await connection.execute(insert_or_replace(connection, INTENTS), rows)
            for entry in audit:
                await append_entry(connection, entry)

        await self._database.write(work)

    async def by_id(self, intent_id: str) -> Intent:
        """One intent; NotFound."""
        found = await self._intents(select(INTENTS.c.body).where(INTENTS.c.id == intent_id))
        if not found:
            raise NotFound("intent_not_found", f"there is no intent {intent_id[:80]!r}")
        return found[0]

    async def recent(self, limit: int, before: int | None = None) -> list[Intent]:
        """The latest made first; those with a number below `before` if given."""
        query = select(INTENTS.c.body).order_by(INTENTS.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(INTENTS.c.number < before)
        return await self._intents(query)

    async def _intents(self, query: Select[bytes]) -> list[Intent]:
        async def work(connection: AsyncConnection) -> list[bytes]:
            return list((await connection.execute(query)).scalars())

        return [canonical.decode(Intent, body) for body in await self._database.read(work)]
