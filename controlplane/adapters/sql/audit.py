"""The audit log: rows that are added and never changed (triggers of the database see to it)."""

from dataclasses import asdict

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import AUDIT
from controlplane.domain.access import AuditEntry

_COLUMNS = [column for column in AUDIT.c if column is not AUDIT.c.id]


async def append_entry(connection: AsyncConnection, entry: AuditEntry) -> None:
    """Add an entry inside the transaction of the write that it describes."""
    await connection.execute(insert(AUDIT), asdict(entry))


class SqlAuditLog:
    """AuditLog on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, entry: AuditEntry) -> None:
        """Append one entry that belongs to no other store's write."""
        await self._database.write(lambda connection: append_entry(connection, entry))

    async def recent(self, limit: int) -> list[AuditEntry]:
        """Newest first."""
        query = select(*_COLUMNS).order_by(AUDIT.c.id.desc()).limit(limit)

        async def work(connection: AsyncConnection) -> list[AuditEntry]:
            rows = await connection.execute(query)
            return [AuditEntry(**row) for row in rows.mappings()]

        return await self._database.read(work)
