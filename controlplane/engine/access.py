"""Tokens: who is calling and whether the role carries what the call needs.

The one place that REST, ADS and the console's calls ask. Tokens are looked up by the digest of
their secret; what was found is remembered for a few seconds, and longer while the store is away,
so that callers with a known token go on without a database. It must never keep, log or return a
secret, except once to the caller who asked for a new token.
"""

import hashlib
import math
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from controlplane.domain.access import (
    PERMISSIONS,
    AccessRole,
    AuditEntry,
    Permission,
    Principal,
    Token,
    allowed,
)
from controlplane.domain.errors import Invalid, NotFound, Refused, Retryable
from controlplane.engine.turns import Turns
from controlplane.ports.stores import TokenStore

log = structlog.get_logger(__name__)

PREFIX = "sbx_"
SECRET = re.compile(r"sbx_[A-Za-z0-9_-]{43}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)

# How long a looked-up token is trusted without asking again: also the longest time until a
# revocation made through another process takes effect here.
FRESH_S = 5.0
REMEMBERED = 10_000
LONGEST_LIFE_S = 10 * 366 * 86_400.0
FIRST = Principal(token_id="", name="first-start", role=AccessRole.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """What a new token should be.

    Attributes:
        expires_s: UTC epoch seconds, None is never.
        node, group: the only ADS node id and gateway group it may speak for; None is any.
    """

    name: str
    role: AccessRole
    expires_s: float | None = None
    node: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembered:
    token: Token
    looked_up_s: float


class Access:
    """Checks, issues and revokes tokens."""

    def __init__(self, tokens: TokenStore, now: Callable[[], float]) -> None:
        self._tokens = tokens
        self._now = now
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        # Checks before a write (last admin, first start) must not interleave with another write.
        self._writing = Turns()

    async def check(self, secret: str | None, permission: Permission) -> Principal:
        """Say who holds the secret.

        Raises:
            Refused: `unauthenticated` (missing, unknown, expired or revoked), or `forbidden` when
                the role does not carry the permission.
            Retryable: the store is away and this token was not seen before.
        """
        return _principal(await self._permitted(secret, permission))

    async def check_node(self, secret: str | None, node: str, group: str) -> Principal:
        """Say who holds the secret of a gateway that subscribes as `node` of `group`.

        Raises:
            Refused: as `check`, or `wrong_node` when the token is bound to another node or group.
            Retryable: as `check`.
        """
        token = await self._permitted(secret, Permission.SUBSCRIBE)
        for what, bound, claimed in (("node", token.node, node), ("group", token.group, group)):
            if bound not in (None, claimed):
                raise Refused(
                    "wrong_node",
                    f"token {token.name} speaks for {what} {bound} only, not for {claimed!r}; "
                    f"correct the caller's {what} or issue a token for it",
                    {what: claimed},
                )
        return _principal(token)

    def knows(self, secret: str | None) -> bool:
        """Whether the secret was recently seen to be good; asks no store."""
        if secret is None:
            return False
        found = self._remembered.get(_digest(secret))
        return found is not None and not self._ended(found.token)

    async def tokens(self) -> list[Token]:
        """Every token, by creation."""
        return await self._tokens.all()

    async def issue(
        self, request: TokenRequest, author: Principal, reason: str
    ) -> tuple[Token, str]:
        """Store a new token.

        The token of the first start ends when it has issued another admin token.

        Returns:
            The token, and its secret, which nothing can show again.

        Raises:
            Invalid: the name or the expiry is out of range.
        """
        self._check_request(request)
        async with self._writing:
            token, secret = self._new(request)
            await self._tokens.add(token, self._audit(author, "token.issue", token, reason))
            if request.role is AccessRole.ADMIN:
                await self._end_once(author)
        log.info("token.issued", id=token.id, name=token.name, role=token.role.value)
        return token, secret

    async def revoke(self, token_id: str, author: Principal, reason: str) -> None:
        """End a token at once.

        Raises:
            NotFound: no such token.
            Refused: `last_admin_token`, it is the only usable one with the role admin.
        """
        async with self._writing:
            token = await self._find(token_id)
            await self._keep_an_admin(token)
            await self._revoke(token, author, reason)

    async def ensure_first(self) -> str | None:
        """Secret of a new one-time admin token when no usable admin token exists, else None.

        Called at start; the caller shows it once on the terminal.
        """
        async with self._writing:
            if self._admins(await self._tokens.all()):
                return None
            request = TokenRequest(name="first-start", role=AccessRole.ADMIN)
            token, secret = self._new(request, once=True)
            audit = self._audit(FIRST, "token.first", token, "no usable admin token at start")
            await self._tokens.add(token, audit)
        return secret

    async def _permitted(self, secret: str | None, permission: Permission) -> Token:
        token = await self._usable(secret)
        if not allowed(token.role, permission):
            roles = [role.value for role in AccessRole if permission in PERMISSIONS[role]]
            raise Refused(
                "forbidden",
                f"token {token.name} has the role {token.role}, which may not {permission}; "
                f"use a token with one of the roles {', '.join(roles)}",
                {"permission": permission.value, "roles": roles},
            )
        return token

    async def _usable(self, secret: str | None) -> Token:
        if not secret:
            message = "no token; send the header `Authorization: Bearer sbx_...`"
            raise Refused("unauthenticated", message)
        if SECRET.fullmatch(secret) is None:
            raise _unknown()
        token = await self._look_up(_digest(secret))
        if self._ended(token):
            verb = "was revoked" if token.revoked_s is not None else "has expired"
            message = f"token {token.name} {verb}; ask an admin for a new one"
            raise Refused("unauthenticated", message)
        return token

    async def _look_up(self, digest: str) -> Token:
        found = self._remembered.get(digest)
        if found is not None and 0 <= self._now() - found.looked_up_s < FRESH_S:
            return found.token
        try:
            token = await self._tokens.by_digest(digest)
        except Retryable:
            if found is None:
                raise
            return found.token
        if token is None:
            self._remembered.pop(digest, None)
            raise _unknown()
        self._remember(token)
        return token

    def _remember(self, token: Token) -> None:
        self._remembered[token.digest] = _Remembered(token=token, looked_up_s=self._now())
        self._remembered.move_to_end(token.digest)
        if len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)

    def _ended(self, token: Token) -> bool:
        expired = token.expires_s is not None and token.expires_s <= self._now()
        return expired or token.revoked_s is not None

    def _check_request(self, request: TokenRequest) -> None:
        names = {"name": request.name, "node": request.node, "group": request.group}
        for what, value in names.items():
            if value is not None and NAME.fullmatch(value) is None:
                raise Invalid(
                    "token_name_invalid",
                    f"token {what} {value[:80]!r} must be 1..64 of A-Z a-z 0-9 . _ - and begin "
                    "with a letter or digit",
                    {"field": what},
                )
        if request.expires_s is None:
            return
        life_s = request.expires_s - self._now()
        if not (math.isfinite(life_s) and 0 < life_s <= LONGEST_LIFE_S):
            raise Invalid(
                "token_expiry_invalid",
                f"the expiry is {life_s:.0f} s from now; give a time after now and within ten "
                "years, or none",
                {"field": "expires"},
            )

    def _new(self, request: TokenRequest, *, once: bool = False) -> tuple[Token, str]:
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(
            id=secrets.token_hex(8),
            name=request.name,
            role=request.role,
            digest=_digest(secret),
            created_s=self._now(),
            expires_s=request.expires_s,
            node=request.node,
            group=request.group,
            once=once,
        )
        return token, secret

    async def _end_once(self, author: Principal) -> None:
        for token in await self._tokens.all():
            if token.id == author.token_id and token.once and not self._ended(token):
                await self._revoke(token, author, "one-time token was used")

    async def _find(self, token_id: str) -> Token:
        for token in await self._tokens.all():
            if token.id == token_id:
                return token
        raise NotFound("token_not_found", f"no token has the id {token_id[:80]!r}; see the list")

    async def _keep_an_admin(self, token: Token) -> None:
        admins = self._admins(await self._tokens.all())
        if [admin.id for admin in admins] == [token.id]:
            raise Refused(
                "last_admin_token",
                f"token {token.name} is the only usable admin token; issue another one first",
            )

    def _admins(self, tokens: list[Token]) -> list[Token]:
        return [t for t in tokens if t.role is AccessRole.ADMIN and not self._ended(t)]

    async def _revoke(self, token: Token, author: Principal, reason: str) -> None:
        audit = self._audit(author, "token.revoke", token, reason)
        await self._tokens.revoke(token.id, self._now(), audit)
        self._remembered.pop(token.digest, None)
        log.info("token.revoked", id=token.id, name=token.name)

    def _audit(self, author: Principal, action: str, token: Token, reason: str) -> AuditEntry:
        return AuditEntry(
            time_s=self._now(),
            author=author.name,
            action=action,
            subject=f"token/{token.id}",
            reason=reason,
            after=f"{token.name} {token.role}",
        )


def _principal(token: Token) -> Principal:
    return Principal(token_id=token.id, name=token.name, role=token.role)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _unknown() -> Refused:
    return Refused("unauthenticated", "the token is not known here; check it or ask for a new one")
