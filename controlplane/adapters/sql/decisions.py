"""Decisions as packed canonical bytes, found by service and time, and the splits they changed.

A split is written with the decision that changed it, so that the history of a ratio is read from
a few small rows and outlives the decisions.
"""

import asyncio
import json
import zlib
from collections.abc import Sequence

from sqlalchemy import ScalarSelect, and_, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.services import newest_of_each, services
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import DECISIONS, SPLITS
from controlplane.adapters.sql.upsert import insert_or_keep
from controlplane.domain import canonical
from controlplane.domain.decisions import Decision, Split, split_of
from controlplane.domain.errors import NotFound

# The fastest level: a thousand decisions are packed in some 0.06 s, to a quarter of their size.
PACKING = 1
# Read at once: a few MB, far within a call's deadline.
PAGE_ROWS = 500
# Dropped per transaction, so that a snapshot that wants to be stored does not wait.
PRUNE_ROWS = 1_000


class SqlDecisionStore:
    """DecisionStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, decisions: Sequence[Decision]) -> None:
        """Append the decisions of one cycle; one that is there already stays as it is."""
        if not decisions:
            return
        rows = await asyncio.to_thread(_rows, decisions)
        splits = await asyncio.to_thread(_split_rows, decisions)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_keep(connection, DECISIONS), rows)
            known = await connection.execute(newest_of_each(SPLITS, SPLITS.c.shares))
            if changed := _changed(splits, dict(known.all())):
                await connection.execute(insert_or_keep(connection, SPLITS), changed)

        await self._database.write(work, Durability.NORMAL)

    async def by_id(self, decision_id: str) -> Decision:
        """One decision; NotFound."""
        found = await self._bodies(select(DECISIONS.c.body).where(DECISIONS.c.id == decision_id))
        if not found:
            raise NotFound("decision_not_found", f"there is no decision {decision_id}")
        return _unpacked(found[0])

    async def recent(
        self, service: str | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Decision]:
        """Newest first, then by id, of one service or of all; behind a (time, id) if given."""
        found: list[Decision] = []
        while len(found) < limit:
            rows = min(PAGE_ROWS, limit - len(found))
            page = await self._bodies(_page(service, after).limit(rows))
            # Even a page takes longer than the loop may be held up.
            found += await asyncio.to_thread(_decoded, page)
            if len(page) < rows:
                break
            after = (found[-1].time_s, found[-1].id)
        return found

    async def newest(self) -> dict[str, Decision]:
        """Service -> its newest decision; read once at start."""

        async def work(connection: AsyncConnection) -> list[bytes]:
            found = await connection.execute(newest_of_each(DECISIONS, DECISIONS.c.body))
            return [body for _, body in found.all()]

        decisions = await asyncio.to_thread(_decoded, await self._database.read(work))
        return {decision.service: decision for decision in decisions}

    async def history(self, service: str, time_s: float) -> list[Split]:
        """The split in force at `time_s`, then each later change, by time."""
        own = SPLITS.c.service == service
        start_s = func.coalesce(_in_force(service, time_s), time_s)
        query = (
            select(SPLITS.c.time_s, SPLITS.c.shares)
            .where(own, SPLITS.c.time_s >= start_s)
            .order_by(SPLITS.c.time_s)
        )

        async def work(connection: AsyncConnection) -> list[tuple[float, bytes]]:
            return list((await connection.execute(query)).all())

        return await asyncio.to_thread(_splits, await self._database.read(work))

    async def prune(self, before_s: float) -> int:
        """Drop decisions of a time < `before_s`, and splits that were over by then."""
        pruned, dropped = 0, PRUNE_ROWS
        while dropped >= PRUNE_ROWS:
            dropped = await self._database.write(
                lambda connection: _prune_some(connection, before_s), Durability.NORMAL
            )
            pruned += dropped

        async def names(connection: AsyncConnection) -> list[str]:
            return list((await connection.execute(services(SPLITS))).scalars())

        for service in await self._database.read(names):
            await self._prune_splits(service, before_s)
        return pruned

    async def _prune_splits(self, service: str, before_s: float) -> None:
        own = SPLITS.c.service == service
        over = SPLITS.c.time_s < _in_force(service, before_s)
        dropping = delete(SPLITS).where(own, over)
        await self._database.write(lambda c: c.execute(dropping), Durability.NORMAL)

    async def _bodies(self, query: Select[bytes]) -> list[bytes]:
        async def work(connection: AsyncConnection) -> list[bytes]:
            return list((await connection.execute(query)).scalars())

        return await self._database.read(work)


def _page(service: str | None, after: tuple[float, str] | None) -> Select[bytes]:
    query = select(DECISIONS.c.body).order_by(DECISIONS.c.time_s.desc(), DECISIONS.c.id)
    if service is not None:
        query = query.where(DECISIONS.c.service == service)
    if after is None:
        return query
    time_s, decision_id = after
    same = and_(DECISIONS.c.time_s == time_s, DECISIONS.c.id > decision_id)
    return query.where(or_(DECISIONS.c.time_s < time_s, same))


def _rows(decisions: Sequence[Decision]) -> list[dict[str, object]]:
    return [
        {
            "id": decision.id,
            "service": decision.service,
            "time_s": decision.time_s,
            "body": _packed(decision),
        }
        for decision in decisions
    ]


def _split_rows(decisions: Sequence[Decision]) -> list[tuple[str, float, bytes]]:
    splits = ((decision.service, split_of(decision)) for decision in decisions)
    return [(service, split.time_s, canonical.encode(split.shares)) for service, split in splits]


def _changed(
    splits: Sequence[tuple[str, float, bytes]], known: dict[str, bytes]
) -> list[dict[str, object]]:
    """The rows whose shares differ from the service's row before."""
    rows: list[dict[str, object]] = []
    for service, time_s, shares in splits:
        if known.get(service) != shares:
            rows.append({"service": service, "time_s": time_s, "shares": shares})
            known[service] = shares
    return rows


def _in_force(service: str, time_s: float) -> ScalarSelect[float]:
    """Time of the service's split that is in force at `time_s`; NULL before the first."""
    times = select(func.max(SPLITS.c.time_s))
    return times.where(SPLITS.c.service == service, SPLITS.c.time_s <= time_s).scalar_subquery()


async def _prune_some(connection: AsyncConnection, before_s: float) -> int:
    old = DECISIONS.c.time_s < before_s
    times = select(DECISIONS.c.time_s).where(old).order_by(DECISIONS.c.time_s)
    end = await connection.scalar(times.offset(PRUNE_ROWS).limit(1))
    some = old if end is None else DECISIONS.c.time_s <= end
    return (await connection.execute(delete(DECISIONS).where(some))).rowcount


def _splits(rows: Sequence[tuple[float, bytes]]) -> list[Split]:
    return [Split(time_s=time_s, shares=json.loads(shares)) for time_s, shares in rows]


def _decoded(bodies: list[bytes]) -> list[Decision]:
    return [_unpacked(body) for body in bodies]


def _packed(decision: Decision) -> bytes:
    # What a decision read makes it some 10 kB long, and repeats itself.
    return zlib.compress(canonical.encode(decision), PACKING)


def _unpacked(body: bytes) -> Decision:
    # Those of the first releases stand there as they are.
    plain = body if body.startswith(b"{") else zlib.decompress(body)
    return canonical.decode(Decision, plain)
