"""Operations as canonical bytes: items of several kinds in one table, deliveries, the journal.

What is queried stands beside the bodies. A kind is a class of the domain under a name of its own.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Generic, TypeVar

from sqlalchemy import delete, insert, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Delete, Select

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.operation_tables import DELIVERIES, JOURNAL, OPERATIONS
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry
from controlplane.domain.admission.flash_sale.life import Correction, Opening
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.changes import Change
from controlplane.domain.operations.episodes import Episode
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun
from controlplane.domain.operations.timeline import Entry, EntryKind
from controlplane.domain.operations.webhooks import Delivery, DeliveryState, Webhook
from controlplane.ports.operations import OperationStores

T = TypeVar("T")

PRUNE_ROWS = 1_000


class SqlItemStore(Generic[T]):
    """ItemStore on SQL: the items of one kind."""

    def __init__(self, database: Database, kind: str, of: type[T]) -> None:
        self._database = database
        self._kind = kind
        self._of = of

    async def all(self) -> dict[str, T]:
        """Every item, by name."""
        query = select(OPERATIONS.c.name, OPERATIONS.c.body).where(OPERATIONS.c.kind == self._kind)

        async def work(connection: AsyncConnection) -> list[tuple[str, bytes]]:
            rows = await connection.execute(query.order_by(OPERATIONS.c.name))
            return [(row.name, row.body) for row in rows]

        found = await self._database.read(work)
        return {name: canonical.decode(self._of, body) for name, body in found}

    async def put(
        self, name: str, item: T, audit: AuditEntry | None = None, before: T | None = None
    ) -> None:
        """Store it over what is there; with `before` Conflict when something else is there."""
        row = {"kind": self._kind, "name": name, "body": canonical.encode(item)}
        expected = None if before is None else canonical.encode(before)

        async def work(connection: AsyncConnection) -> None:
            if expected is not None and await connection.scalar(self._body(name)) != expected:
                raise Conflict(
                    "operation_changed",
                    f"{self._kind} {name} was changed by somebody else: read it again and repeat",
                )
            await connection.execute(insert_or_replace(connection, OPERATIONS), row)
            if audit is not None:
                await append_entry(connection, audit)

        await self._database.write(work)

    async def remove(self, name: str, audit: AuditEntry | None = None) -> None:
        """Drop it; nothing happens when it is gone."""
        dropping = delete(OPERATIONS).where(
            OPERATIONS.c.kind == self._kind, OPERATIONS.c.name == name
        )

        async def work(connection: AsyncConnection) -> None:
            if (await connection.execute(dropping)).rowcount and audit is not None:
                await append_entry(connection, audit)

        await self._database.write(work)

    def _body(self, name: str) -> Select[bytes]:
        return select(OPERATIONS.c.body).where(
            OPERATIONS.c.kind == self._kind, OPERATIONS.c.name == name
        )


class SqlDeliveryStore:
    """DeliveryStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, delivery: Delivery) -> None:
        """Store one, or its next state over the earlier one."""
        row = {
            "id": delivery.id,
            "state": delivery.state.value,
            "created_s": delivery.created_s,
            "body": canonical.encode(delivery),
        }

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert_or_replace(connection, DELIVERIES), row)

        await self._database.write(work)

    async def by_id(self, delivery_id: str) -> Delivery:
        """One of them; NotFound."""
        found = await self._found(select(DELIVERIES.c.body).where(DELIVERIES.c.id == delivery_id))
        if not found:
            raise NotFound("delivery_not_found", f"there is no delivery {delivery_id[:80]!r}")
        return found[0]

    async def recent(
        self,
        state: DeliveryState | None,
        limit: int,
        after: tuple[float, str] | None = None,
    ) -> list[Delivery]:
        """Newest first, of one state or of all; behind a (creation, id) if given."""
        query = select(DELIVERIES.c.body).order_by(
            DELIVERIES.c.created_s.desc(), DELIVERIES.c.id.desc()
        )
        if state is not None:
            query = query.where(DELIVERIES.c.state == state.value)
        if after is not None:
            query = query.where(tuple_(DELIVERIES.c.created_s, DELIVERIES.c.id) < after)
        return await self._found(query.limit(limit))

    async def prune(self, before_s: float) -> int:
        """Drop those made before that are over; how many went."""
        old = select(DELIVERIES.c.id).where(
            DELIVERIES.c.created_s < before_s, DELIVERIES.c.state != DeliveryState.WAITING.value
        )
        return await _pruned(
            self._database,
            delete(DELIVERIES).where(DELIVERIES.c.id.in_(old.limit(PRUNE_ROWS))),
        )

    async def _found(self, query: Select[bytes]) -> list[Delivery]:
        async def work(connection: AsyncConnection) -> list[bytes]:
            return list((await connection.execute(query)).scalars())

        return [canonical.decode(Delivery, body) for body in await self._database.read(work)]


class SqlJournalStore:
    """JournalStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, entries: Sequence[Entry]) -> None:
        """Add them, in this order."""
        rows = [{k: v for k, v in asdict(one).items() if k != "number"} for one in entries]
        if rows:
            await self._database.write(
                lambda connection: _inserted(connection, rows), Durability.NORMAL
            )

    async def between(self, since_s: float, until_s: float, limit: int) -> list[Entry]:
        """The oldest `limit` within, both ends included, by time."""
        query = (
            select(JOURNAL)
            .where(JOURNAL.c.time_s.between(since_s, until_s))
            .order_by(JOURNAL.c.time_s, JOURNAL.c.number)
            .limit(limit)
        )

        async def work(connection: AsyncConnection) -> list[Entry]:
            rows = (await connection.execute(query)).mappings()
            return [Entry(**{**row, "kind": EntryKind(row["kind"])}) for row in rows]

        return await self._database.read(work)

    async def prune(self, before_s: float) -> int:
        """Drop older ones; how many went."""
        old = select(JOURNAL.c.number).where(JOURNAL.c.time_s < before_s).limit(PRUNE_ROWS)
        return await _pruned(self._database, delete(JOURNAL).where(JOURNAL.c.number.in_(old)))


def operation_stores(database: Database) -> OperationStores:
    """All of them in one database."""
    return OperationStores(
        alert_policies=SqlItemStore(database, "alert-policy", AlertPolicy),
        episodes=SqlItemStore(database, "episode", Episode),
        scenarios=SqlItemStore(database, "scenario", Scenario),
        runs=SqlItemStore(database, "scenario-run", ScenarioRun),
        changes=SqlItemStore(database, "change", Change),
        webhooks=SqlItemStore(database, "webhook", Webhook),
        incidents=SqlItemStore(database, "incident", Incident),
        openings=SqlItemStore(database, "sale-opening", Opening),
        corrections=SqlItemStore(database, "sale-correction", Correction),
        deliveries=SqlDeliveryStore(database),
        journal=SqlJournalStore(database),
    )


async def _inserted(connection: AsyncConnection, rows: list[dict[str, object]]) -> None:
    await connection.execute(insert(JOURNAL), rows)


async def _pruned(database: Database, dropping: Delete) -> int:
    """Repeat until nothing is left, in small transactions."""

    async def work(connection: AsyncConnection) -> int:
        return (await connection.execute(dropping)).rowcount

    pruned, dropped = 0, PRUNE_ROWS
    while dropped >= PRUNE_ROWS:
        dropped = await database.write(work, Durability.NORMAL)
        pruned += dropped
    return pruned
