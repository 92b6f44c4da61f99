"""The audit log: rows that are added and never changed (triggers of the database see to it)."""

from dataclasses import asdict

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import AUDIT
from controlplane.domain.access import AuditEntry

_COLUMNS = [column for column in AUDIT.c if column is not AUDIT.c.id]
_NUMBER = AUDIT.c.id.label("number")


async def append_entry(connection: AsyncConnection, entry: AuditEntry) -> None:
    """Add an entry inside the transaction of the write that it describes."""
    row = asdict(entry)
    # The database numbers.
    del row["number"]
    await connection.execute(insert(AUDIT), row)


class SqlAuditLog:
    """AuditLog on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, entry: AuditEntry) -> None:
        """Append one entry that belongs to no other store's write."""
        await self._database.write(lambda connection: append_entry(connection, entry))

    async def recent(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """Newest first, with their numbers; those below `before` if given."""
        query = select(*_COLUMNS, _NUMBER).order_by(AUDIT.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(AUDIT.c.id < before)

        async def work(connection: AsyncConnection) -> list[AuditEntry]:
            rows = await connection.execute(query)
            return [AuditEntry(**row) for row in rows.mappings()]

        return await self._database.read(work)
