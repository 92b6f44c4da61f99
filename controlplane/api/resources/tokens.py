"""GET, POST and DELETE /v1/tokens: who may do what. A secret is shown once, when it is made."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, status
from pydantic import Field

from controlplane.api.dependencies import Admin, ConfigReader, Services
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.values import (
    Items,
    Reason,
    Text,
    Time,
    Wire,
    seconds,
    stamp,
    stamp_or_none,
)
from controlplane.domain.access import PERMISSIONS, AccessRole, Permission, Token
from controlplane.engine.access import TokenRequest

router = APIRouter(prefix="/v1", tags=["tokens"])


class TokenIn(Wire):
    """A token to be made; `node` and `group` bind it to one ADS node id and gateway group."""

    name: Annotated[Text, Field(max_length=64)]
    role: AccessRole
    expires: Time | None = None
    node: Annotated[Text, Field(max_length=64)] | None = None
    group: Annotated[Text, Field(max_length=64)] | None = None
    reason: Reason = ""


class TokenOut(Wire):
    """A token without its secret."""

    id: str
    name: str
    role: AccessRole
    node: str | None
    group: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    once: bool


class IssuedToken(TokenOut):
    """A new token with its secret, which nothing can show again."""

    secret: str


class CallerOut(Wire):
    """Who a token is, and what it may do."""

    name: str
    role: AccessRole
    permissions: list[Permission]


@router.get("/whoami")
async def read_caller(caller: ConfigReader) -> CallerOut:
    """The caller's own name, role and permissions."""
    return CallerOut(
        name=caller.name, role=caller.role, permissions=sorted(PERMISSIONS[caller.role])
    )


@router.get("/tokens")
async def list_tokens(
    services: Services, _caller: Admin, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[TokenOut]:
    """Tokens, by creation."""
    tokens = await services.access.tokens()
    page, after = page_of(tokens, lambda token: (token.created_s, token.id), limit, cursor)
    return Items(items=[_token(token) for token in page], next=after)


@router.post("/tokens", status_code=status.HTTP_201_CREATED)
async def issue_token(
    services: Services, caller: Admin, wanted: TokenIn, write: Repeatable
) -> IssuedToken:
    """Make a token; keep the secret of the answer."""
    request = TokenRequest(
        name=wanted.name,
        role=wanted.role,
        expires_s=None if wanted.expires is None else seconds(wanted.expires),
        node=wanted.node,
        group=wanted.group,
    )
    token, secret = await write.once(
        caller, lambda: services.access.issue(request, caller, wanted.reason)
    )
    return IssuedToken(**_token(token).model_dump(), secret=secret)


@router.delete("/tokens/{token_id}", status_code=status.HTTP_204_NO_CONTENT)
async def revoke_token(
    services: Services,
    caller: Admin,
    token_id: Annotated[str, Path(max_length=64)],
    reason: Reason = "",
) -> None:
    """End a token at once."""
    await services.access.revoke(token_id, caller, reason)


def _token(token: Token) -> TokenOut:
    return TokenOut(
        id=token.id,
        name=token.name,
        role=token.role,
        node=token.node,
        group=token.group,
        created=stamp(token.created_s),
        expires=stamp_or_none(token.expires_s),
        revoked=stamp_or_none(token.revoked_s),
        once=token.once,
    )
