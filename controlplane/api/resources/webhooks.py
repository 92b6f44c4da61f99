"""/v1/webhooks: who is told of what, and what could not be delivered.

A secret is shown once, in the answer to the call that makes it.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from controlplane.api.dependencies import Admin, Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedDigest, tag_of
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, cut, moment, page_of
from controlplane.api.wire.orders import Done
from controlplane.api.wire.values import Items, Reason, Text, Wire, stamp, stamp_or_none
from controlplane.domain.access import Permission, Principal, allowed
from controlplane.domain.errors import Invalid
from controlplane.domain.operations.webhooks import (
    Delivery,
    DeliveryState,
    EventKind,
    Webhook,
    audited,
)
from controlplane.engine.operations.items import Written

router = APIRouter(prefix="/v1", tags=["webhooks"])

Name = Annotated[str, Path(max_length=63, pattern="^[a-z0-9][a-z0-9-]*$")]
DeliveryId = Annotated[str, Path(max_length=64)]
Why = Annotated[str, Query(max_length=500, description="Why, for the audit log.")]


class WebhookIn(Wire):
    """A receiver; without events it gets all, without a secret one is made or kept."""

    url: Annotated[Text, Field(max_length=2_000)]
    events: Annotated[list[EventKind], Field(max_length=20)] = Field(default=[])
    secret: Annotated[Text, Field(max_length=200)] = ""
    renew_secret: bool = False
    reason: Reason = ""


class WebhookOut(Wire):
    """A receiver; `secret` is there only when it has just been made.

    Paths of many receivers are secrets of theirs: `url` is null for who may not operate. `address`
    is its origin with a digest of the whole, which says whether it is another one.
    """

    name: str
    address: str
    url: str | None
    events: list[EventKind]
    disabled: str
    secret: str | None = None


class DeliveryOut(Wire):
    """One message: how often it was tried, and what came back."""

    id: str
    webhook: str
    event: EventKind
    state: DeliveryState
    attempts: int
    answer: int
    words: str
    created: datetime
    next: datetime | None
    ended: datetime | None
    body: str


@router.get("/webhooks")
async def list_webhooks(
    services: Services, caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[WebhookOut]:
    """All receivers, by name."""
    found = list(services.operations.webhooks.all.values())
    page, after = page_of(found, lambda one: (one.name,), limit, cursor)
    return Items(items=[_webhook(one, caller) for one in page], next=after)


@router.get("/webhooks:deliveries")
async def list_deliveries(
    *,
    services: Services,
    _caller: Viewer,
    state: DeliveryState | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Items[DeliveryOut]:
    """Messages, the newest first; dead ones are those that nobody took."""
    found = await services.operations.deliveries.recent(state, limit + 1, moment(cursor))
    page, after = cut(found, limit, lambda one: (one.created_s, one.id))
    return Items(items=[_delivery(one) for one in page], next=after)


@router.post("/webhooks:deliveries/{delivery_id}:redeliver")
async def redeliver(services: Services, caller: Operator, delivery_id: DeliveryId) -> DeliveryOut:
    """Try a message again from its beginning, under its own id."""
    return _delivery(await services.operations.messenger.redeliver(delivery_id, caller))


@router.get("/webhooks/{name}")
async def read_webhook(
    services: Services, caller: Viewer, name: Name, response: Response
) -> WebhookOut:
    """One receiver; its ETag is for If-Match."""
    webhook = services.operations.webhooks.named(name)
    response.headers["ETag"] = tag_of(webhook)
    return _webhook(webhook, caller)


@router.put("/webhooks/{name}")
async def write_webhook(
    *,
    services: Services,
    caller: Admin,
    name: Name,
    wanted: WebhookIn,
    response: Response,
    expected: ExpectedDigest = None,
) -> WebhookOut:
    """Declare a receiver, or change it; this also enables one that was disabled."""
    before = services.operations.webhooks.all.get(name)
    if wanted.secret and wanted.renew_secret:
        raise Invalid("webhook_invalid", "give a secret, or have one made: not both")
    kept = "" if before is None or wanted.renew_secret else before.secret
    webhook = await services.operations.messenger.declare(
        Webhook(
            name=name,
            url=wanted.url,
            secret=wanted.secret or kept,
            events=tuple(sorted(set(wanted.events))),
        ),
        Written(author=caller, reason=wanted.reason, expected=expected),
    )
    response.headers["ETag"] = tag_of(webhook)
    made = webhook.secret not in (wanted.secret, kept)
    return _webhook(webhook, caller, webhook.secret if made else None)


@router.post("/webhooks/{name}:test")
async def send_test(services: Services, _caller: Operator, name: Name) -> DeliveryOut:
    """Send a message of the kind `test`; see the deliveries for how it went."""
    return _delivery(services.operations.messenger.test(name))


@router.delete("/webhooks/{name}")
async def remove_webhook(
    services: Services, caller: Admin, name: Name, reason: Why = "", expected: ExpectedDigest = None
) -> Done:
    """Remove a receiver; what waits for it is dead."""
    written = Written(author=caller, reason=reason, expected=expected)
    await services.operations.webhooks.remove(name, written)
    return Done()


def _webhook(webhook: Webhook, caller: Principal, secret: str | None = None) -> WebhookOut:
    return WebhookOut(
        name=webhook.name,
        address=audited(webhook),
        url=webhook.url if allowed(caller.role, Permission.OPERATE) else None,
        events=list(webhook.events),
        disabled=webhook.disabled,
        secret=secret,
    )


def _delivery(delivery: Delivery) -> DeliveryOut:
    waits = delivery.state is DeliveryState.WAITING
    return DeliveryOut(
        id=delivery.id,
        webhook=delivery.webhook,
        event=delivery.kind,
        state=delivery.state,
        attempts=delivery.attempts,
        answer=delivery.answer,
        words=delivery.words,
        created=stamp(delivery.created_s),
        next=stamp(delivery.next_s) if waits else None,
        ended=stamp_or_none(delivery.ended_s),
        body=delivery.body,
    )
