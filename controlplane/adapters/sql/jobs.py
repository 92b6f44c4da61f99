"""Jobs as canonical bytes, found by id, service and time."""

from sqlalchemy import delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import JOBS
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import NotFound
from controlplane.domain.jobs import FINAL, Job

PRUNE_ROWS = 1_000


class SqlJobStore:
    """JobStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, job: Job, audit: AuditEntry | None = None) -> None:
        """Store a job, or its next state over the earlier one."""
        row = {
            "id": job.id,
            "service": job.service,
            "state": job.state.value,
            "created_s": job.created_s,
            "body": canonical.encode(job),
        }

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_replace(connection, JOBS), row)
            if audit is not None:
                await append_entry(connection, audit)

        await self._database.write(work)

    async def by_id(self, job_id: str) -> Job:
        """One job; NotFound."""
        found = await self._jobs(select(JOBS.c.body).where(JOBS.c.id == job_id))
        if not found:
            raise NotFound("job_not_found", f"there is no job {job_id}")
        return found[0]

    async def recent(
        self, service: str | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Job]:
        """Newest first, of one service or of all; behind a (creation, id) if given."""
        query = select(JOBS.c.body).order_by(JOBS.c.created_s.desc(), JOBS.c.id.desc())
        if service is not None:
            query = query.where(JOBS.c.service == service)
        if after is not None:
            query = query.where(tuple_(JOBS.c.created_s, JOBS.c.id) < after)
        return await self._jobs(query.limit(limit))

    async def unfinished(self) -> list[Job]:
        """Jobs that are not final, oldest first."""
        final = [state.value for state in FINAL]
        query = select(JOBS.c.body).where(JOBS.c.state.not_in(final))
        return await self._jobs(query.order_by(JOBS.c.created_s, JOBS.c.id))

    async def prune(self, before_s: float) -> int:
        """Drop final jobs made before `before_s`; how many went."""
        final = [state.value for state in FINAL]
        old = select(JOBS.c.id).where(JOBS.c.created_s < before_s, JOBS.c.state.in_(final))
        dropping = delete(JOBS).where(JOBS.c.id.in_(old.limit(PRUNE_ROWS)))

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(dropping)).rowcount

        pruned, dropped = 0, PRUNE_ROWS
        while dropped >= PRUNE_ROWS:
            dropped = await self._database.write(work, Durability.NORMAL)
            pruned += dropped
        return pruned

    async def _jobs(self, query: Select[bytes]) -> list[Job]:
        async def work(connection: AsyncConnection) -> list[bytes]:
            return list((await connection.execute(query)).scalars())

        return [canonical.decode(Job, body) for body in await self._database.read(work)]
