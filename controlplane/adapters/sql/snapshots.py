"""Published snapshots by revision; none is ever changed."""

import asyncio
from dataclasses import replace

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import SNAPSHOTS
from controlplane.domain import snapshot as snapshots
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.snapshot import Snapshot

# Dropped per transaction: bodies of a large fleet have a MB each.
DROP_ROWS = 100


class SqlSnapshotStore:
    """SnapshotStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""

        async def work(connection: AsyncConnection) -> tuple[bytes, int] | None:
            query = select(SNAPSHOTS).order_by(SNAPSHOTS.c.revision.desc()).limit(1)
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else (row.body, row.revision)

        found = await self._database.read(work)
        # A fleet of 1,000 services takes longer than the loop may be held up.
        return None if found is None else await asyncio.to_thread(snapshots.decode, *found)

    async def newest_revision(self) -> int:
        """The newest revision, 0 before the first."""

        async def work(connection: AsyncConnection) -> int:
            return await connection.scalar(select(func.max(SNAPSHOTS.c.revision))) or 0

        return await self._database.read(work)

    async def append(self, snapshot: Snapshot, expected_revision: int) -> Snapshot:
        """Store it as the newest; Conflict when the newest is not of `expected_revision`."""
        body = snapshots.encode(snapshot)
        revision = max(expected_revision, snapshot.revision) + 1

        async def work(connection: AsyncConnection) -> None:
            newest = await connection.scalar(select(func.max(SNAPSHOTS.c.revision))) or 0
            if newest != expected_revision:
                raise Conflict(
                    "revision_conflict",
                    f"the newest snapshot has revision {newest}, this one was built on "
                    f"{expected_revision}: another process writes; build it again",
                    {"newest": newest, "expected": expected_revision},
                )
            row = {"revision": revision, "version": snapshot.version, "body": body}
            await connection.execute(insert(SNAPSHOTS), row)

        await self._database.write(work)
        return replace(snapshot, revision=revision)

    async def at(self, revision: int) -> Snapshot:
        """The snapshot of a revision; NotFound."""

        async def work(connection: AsyncConnection) -> bytes | None:
            query = select(SNAPSHOTS.c.body).where(SNAPSHOTS.c.revision == revision)
            return await connection.scalar(query)

        body = await self._database.read(work)
        if body is None:
            raise NotFound("snapshot_not_found", f"there is no snapshot with revision {revision}")
        return await asyncio.to_thread(snapshots.decode, body, revision)

    async def keep(self, newest: int) -> int:
        """Drop all but the `newest` (>= 1) ones, `DROP_ROWS` per transaction; how many went."""
        dropped, last = 0, DROP_ROWS
        while last >= DROP_ROWS:
            last = await self._database.write(lambda c: _drop_some(c, newest), Durability.NORMAL)
            dropped += last
        return dropped


async def _drop_some(connection: AsyncConnection, newest: int) -> int:
    revision = SNAPSHOTS.c.revision
    bounds = select(func.min(revision), func.max(revision))
    first, last = (await connection.execute(bounds)).one()
    if last is None:
        return 0
    end = min(last - newest, first + DROP_ROWS - 1)
    return (await connection.execute(delete(SNAPSHOTS).where(revision <= end))).rowcount
