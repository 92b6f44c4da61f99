"""Tokens, found by the digest of their secret; the secret never comes here."""

from dataclasses import asdict

from sqlalchemy import RowMapping, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from controlplane.adapters.sql.audit import append_entry
from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.tables import TOKENS
from controlplane.domain.access import AccessRole, AuditEntry, Token
from controlplane.domain.errors import Conflict, NotFound


class SqlTokenStore:
    """TokenStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_digest(self, digest: str) -> Token | None:
        """The token, also an expired or revoked one."""
        found = await self._select(select(TOKENS).where(TOKENS.c.digest == digest))
        return found[0] if found else None

    async def all(self) -> list[Token]:
        """Every token, by creation."""
        return await self._select(select(TOKENS).order_by(TOKENS.c.created_s, TOKENS.c.id))

    async def add(self, token: Token, audit: AuditEntry) -> None:
        """Store a new token and its audit entry; Conflict when the id or digest exists."""

        async def work(connection: AsyncConnection) -> None:
            same = or_(TOKENS.c.id == token.id, TOKENS.c.digest == token.digest)
            if await connection.scalar(select(TOKENS.c.id).where(same)) is not None:
                raise Conflict("token_exists", f"a token with id {token.id} exists: choose another")
            await connection.execute(insert(TOKENS), asdict(token))
            await append_entry(connection, audit)

        await self._database.write(work)

    async def revoke(self, token_id: str, time_s: float, audit: AuditEntry) -> None:
        """End a token at `time_s`, or leave the earlier end as it is; NotFound."""
        # The first end stands: a later call must not move it.
        ended = func.coalesce(TOKENS.c.revoked_s, time_s)
        change = update(TOKENS).where(TOKENS.c.id == token_id).values(revoked_s=ended)

        async def work(connection: AsyncConnection) -> None:
            if (await connection.execute(change)).rowcount == 0:
                raise NotFound("token_not_found", f"there is no token with id {token_id}")
            await append_entry(connection, audit)

        await self._database.write(work)

    async def _select(self, query: Select[tuple[object, ...]]) -> list[Token]:
        async def work(connection: AsyncConnection) -> list[Token]:
            return [_token(row) for row in (await connection.execute(query)).mappings()]

        return await self._database.read(work)


def _token(row: RowMapping) -> Token:
    return Token(**{**row, "role": AccessRole(row["role"])})
