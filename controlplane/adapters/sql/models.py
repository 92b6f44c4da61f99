"""Registered models and their aliases; the files themselves stand on a shelf.

The shelf (adapters.model_files) comes first and the row second: a file without a row is never
seen, a row without a file would be a broken promise.
"""

from collections import defaultdict
from dataclasses import asdict, replace
from typing import Protocol

from sqlalchemy import ColumnElement, RowMapping, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import MODEL_ALIASES, MODELS, PROMOTIONS
from controlplane.adapters.sql.upsert import insert_or_keep
from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import NotFound
from controlplane.domain.promotions import Alias, Promotion, PromotionEvent, aliases_after
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.ports.learning import StoredModel

_STEP = [column for column in PROMOTIONS.c if column is not PROMOTIONS.c.id]


class ModelShelf(Protocol):
    """Where the files of models are, by digest."""

    async def put(self, data: bytes, created_s: float) -> StoredModel:
        """Check and keep an artifact; Invalid when it is damaged or of another schema."""

    async def get(self, digest: str) -> LearnedModel:
        """The model, ready to predict; Invalid when its files are damaged or gone."""


class SqlModelRegistry:
    """ModelRegistry: rows on SQL, files on a shelf."""

    def __init__(self, database: Database, shelf: ModelShelf) -> None:
        self._database = database
        self._shelf = shelf

    async def add(self, data: bytes, created_s: float, audit: AuditEntry) -> StoredModel:
        """Check and store an artifact; one that is there already keeps its first time.

        The audit entry gets the model as its subject.
        """
        model = await self._shelf.put(data, created_s)
        row = {
            "digest": model.digest,
            "service": model.service,
            "created_s": model.created_s,
            "description": model.description,
        }

        async def work(connection: AsyncConnection) -> StoredModel:
            await connection.execute(insert_or_keep(connection, MODELS), row)
            await append_entry(connection, replace(audit, subject=model.subject))
            [stored] = await _models(connection, MODELS.c.digest == model.digest)
            return stored

        return await self._database.write(work)

    async def all(self, service: str | None) -> list[StoredModel]:
        """Newest first."""
        conditions = () if service is None else (MODELS.c.service == service,)
        return await self._database.read(lambda connection: _models(connection, *conditions))

    async def record(self, step: Promotion, audit: AuditEntry) -> None:
        """Append a step and set the aliases; NotFound when the service has no such model."""
        found = select(MODELS.c.digest).where(
            MODELS.c.service == step.service, MODELS.c.digest == step.model
        )

        async def work(connection: AsyncConnection) -> None:
            if await connection.scalar(found) is None:
                raise NotFound(
                    "model_not_found", f"service {step.service} has no model {step.model[:12]}"
                )
            await connection.execute(insert(PROMOTIONS), asdict(step))
            await _realias(connection, step)
            await append_entry(connection, audit)

        await self._database.write(work)

    async def promotions(self, service: str, limit: int) -> list[Promotion]:
        """The promotion log of a service, newest first."""
        own = PROMOTIONS.c.service == service
        query = select(*_STEP).where(own).order_by(PROMOTIONS.c.id.desc()).limit(limit)

        async def work(connection: AsyncConnection) -> list[Promotion]:
            return [_step(row) for row in (await connection.execute(query)).mappings()]

        return await self._database.read(work)

    async def by_digest(self, digest: str) -> LearnedModel:
        """One model, ready to predict; NotFound, or Invalid when its files are damaged or gone."""
        query = select(MODELS.c.digest).where(MODELS.c.digest == digest)

        async def work(connection: AsyncConnection) -> str | None:
            return await connection.scalar(query)

        if await self._database.read(work) is None:
            raise NotFound("model_not_found", f"no model has the digest {digest[:12]}")
        return await self._shelf.get(digest)


async def _models(
    connection: AsyncConnection, *conditions: ColumnElement[bool]
) -> list[StoredModel]:
    query = select(MODELS).where(*conditions).order_by(MODELS.c.created_s.desc(), MODELS.c.digest)
    names = select(MODEL_ALIASES.c.digest, MODEL_ALIASES.c.alias).order_by(MODEL_ALIASES.c.alias)
    aliases: defaultdict[str, list[str]] = defaultdict(list)
    for digest, alias in await connection.execute(names):
        aliases[digest].append(alias)
    rows = (await connection.execute(query)).mappings()
    return [StoredModel(**row, aliases=tuple(aliases[row["digest"]])) for row in rows]


async def _realias(connection: AsyncConnection, step: Promotion) -> None:
    own = MODEL_ALIASES.c.service == step.service
    query = select(MODEL_ALIASES.c.alias, MODEL_ALIASES.c.digest).where(own)
    known = {Alias(alias): digest for alias, digest in await connection.execute(query)}
    rows = [
        {"service": step.service, "alias": alias, "digest": digest}
        for alias, digest in sorted(aliases_after(known, step).items())
    ]
    await connection.execute(delete(MODEL_ALIASES).where(own))
    await connection.execute(insert(MODEL_ALIASES), rows)


def _step(row: RowMapping) -> Promotion:
    return replace(Promotion(**row), event=PromotionEvent(row["event"]))
