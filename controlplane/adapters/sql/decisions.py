"""Decisions as canonical bytes, found by service and time."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import DECISIONS
from controlplane.adapters.sql.upsert import insert_or_keep
from controlplane.domain import canonical
from controlplane.domain.decisions import Decision
from controlplane.domain.errors import NotFound

# Read at once: a few MB, far within a call's deadline.
PAGE_ROWS = 500


class SqlDecisionStore:
    """DecisionStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, decisions: Sequence[Decision]) -> None:
        """Append the decisions of one cycle; one that is there already stays as it is."""
        if not decisions:
            return
        rows = await asyncio.to_thread(_rows, decisions)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_keep(connection, DECISIONS), rows)

        await self._database.write(work, Durability.NORMAL)

    async def by_id(self, decision_id: str) -> Decision:
        """One decision; NotFound."""
        found = await self._bodies(select(DECISIONS.c.body).where(DECISIONS.c.id == decision_id))
        if not found:
            raise NotFound("decision_not_found", f"there is no decision {decision_id}")
        return canonical.decode(Decision, found[0])

    async def recent(self, service: str | None, limit: int) -> list[Decision]:
        """Newest first, of one service or of all."""
        found: list[Decision] = []
        while len(found) < limit:
            rows = min(PAGE_ROWS, limit - len(found))
            page = await self._bodies(_page(service, found[-1] if found else None).limit(rows))
            # Even a page takes longer than the loop may be held up.
            found += await asyncio.to_thread(_decoded, page)
            if len(page) < rows:
                break
        return found

    async def newest(self) -> dict[str, Decision]:
        """Service -> its newest decision; read once at start."""
        last = (
            select(DECISIONS.c.service, func.max(DECISIONS.c.time_s).label("time_s"))
            .group_by(DECISIONS.c.service)
            .subquery()
        )
        same = and_(DECISIONS.c.service == last.c.service, DECISIONS.c.time_s == last.c.time_s)
        query = select(DECISIONS.c.body).join(last, same).order_by(DECISIONS.c.id)
        decisions = await asyncio.to_thread(_decoded, await self._bodies(query))
        return {decision.service: decision for decision in decisions}

    async def _bodies(self, query: Select[bytes]) -> list[bytes]:
        async def work(connection: AsyncConnection) -> list[bytes]:
            return list((await connection.execute(query)).scalars())

        return await self._database.read(work)


def _page(service: str | None, after: Decision | None) -> Select[bytes]:
    query = select(DECISIONS.c.body).order_by(DECISIONS.c.time_s.desc(), DECISIONS.c.id)
    if service is not None:
        query = query.where(DECISIONS.c.service == service)
    if after is None:
        return query
    same = and_(DECISIONS.c.time_s == after.time_s, DECISIONS.c.id > after.id)
    return query.where(or_(DECISIONS.c.time_s < after.time_s, same))


def _rows(decisions: Sequence[Decision]) -> list[dict[str, object]]:
    return [
        {
            "id": decision.id,
            "service": decision.service,
            "time_s": decision.time_s,
            "body": canonical.encode(decision),
        }
        for decision in decisions
    ]


def _decoded(bodies: list[bytes]) -> list[Decision]:
    return [canonical.decode(Decision, body) for body in bodies]
