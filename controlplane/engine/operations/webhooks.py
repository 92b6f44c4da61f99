"""Outgoing webhooks: who is told of what, tried again until it is taken or dead.

`tell` never blocks and never fails; one task for each receiver at a time sends in order, so that a
slow one holds nobody else up. What waits and what is dead is kept in the store.
"""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import structlog

from controlplane.domain.access import Principal
from controlplane.domain.errors import Invalid, Refused, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.operations.webhooks import (
    GONE,
    Delivery,
    DeliveryState,
    EventKind,
    Webhook,
    again,
    answered,
    headers,
    is_due,
    key_of,
    secret_of,
)
from controlplane.engine.operations.items import Items, Written
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import Carrier, DeliveryStore

log = structlog.get_logger(__name__)

LOOK_S = 0.2
# Of all receivers together; what comes beyond is dropped and counted.
MOST_WAITING = 10_000
# Of one: a dead receiver must not fill the room of those that listen.
MOST_WAITING_EACH = 2_000
# Also of dead letters in memory; the store has all of them.
RESTORED = 1_000
KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookParts:
    """What messages are made of.

    Attributes:
        origins: `https://host:port` of the receivers that the settings allow.
    """

    webhooks: Items[Webhook]
    deliveries: DeliveryStore
    carrier: Carrier
    origins: frozenset[str] = frozenset()


class Messenger:
    """Tells receivers. `ended` counts final states and `dropped` what had no room, for /metrics."""

    def __init__(self, parts: WebhookParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._waiting: dict[str, Delivery] = {}
        self._counts: Counter[str] = Counter()
        self._new: set[str] = set()
        self._busy: set[str] = set()
        self._dead: dict[str, str] = {}
        self._due = asyncio.Event()
        self.ended: Counter[DeliveryState] = Counter()
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """Messages that are not taken yet."""
        return len(self._waiting)

    async def restore(self) -> None:
        """Take up what the last process could not deliver."""
        deliveries = self._parts.deliveries
        waiting = await deliveries.recent(DeliveryState.WAITING, RESTORED)
        self._waiting = {one.id: one for one in reversed(waiting)}
        self._counts = Counter(one.webhook for one in waiting)
        dead = await deliveries.recent(DeliveryState.DEAD, RESTORED)
        self._dead = {one.id: one.webhook for one in reversed(dead)}
        self._report()

    async def declare(self, webhook: Webhook, written: Written, *, new: bool = False) -> Webhook:
        """Keep a webhook, with a secret made here if it has none.

        Raises:
            Invalid: its address or secret cannot be used. Refused: its origin is not allowed.
        """
        self._check_address(webhook)
        if not webhook.secret:
            webhook = replace(webhook, secret=secret_of(secrets.token_bytes(KEY_BYTES)))
        key_of(webhook.secret)
        return await self._parts.webhooks.put(webhook, written, new=new)

    def tell(self, kind: EventKind, data: Mapping[str, object]) -> None:
        """Let all who want it know; never blocks."""
        for webhook in self._parts.webhooks.all.values():
            if webhook.wants(kind):
                self._add(self._message(webhook, kind, data))

    def test(self, name: str) -> Delivery:
        """Send a test message to one receiver, as a delivery like any other; NotFound."""
        webhook = self._parts.webhooks.named(name)
        if webhook.disabled:
            raise Refused("webhook_disabled", f"webhook {name} is disabled: {webhook.disabled}")
        message = self._message(webhook, EventKind.TEST, {"webhook": name})
        self._add(message)
        return message

    async def redeliver(self, delivery_id: str, author: Principal) -> Delivery:
        """Try a message again from its beginning; NotFound, also when its webhook is gone."""
        found = self._waiting.get(delivery_id) or await self._parts.deliveries.by_id(delivery_id)
        self._parts.webhooks.named(found.webhook)
        renewed = again(found, self._now())
        await self._parts.deliveries.put(renewed)
        log.info("webhook.redelivery", id=delivery_id, author=author.name)
        self._dead.pop(delivery_id, None)
        self._report()
        self._counts[found.webhook] += delivery_id not in self._waiting
        self._waiting[delivery_id] = renewed
        self._due.set()
        return renewed

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                for name in self._names_due():
                    self._busy.add(name)
                    group.create_task(self._serve(name))
                try:
                    async with asyncio.timeout(LOOK_S):
                        await self._due.wait()
                except TimeoutError:
                    pass
                self._due.clear()

    async def settle(self) -> None:
        """Send all that is due now, one receiver after the other; for tests and a stop."""
        for name in self._names_due():
            self._busy.add(name)
            await self._serve(name)

    async def _serve(self, name: str) -> None:
        try:
            for delivery in self._due_of(name):
                await self._attempt(delivery)
        finally:
            self._busy.discard(name)

    async def _attempt(self, delivery: Delivery) -> None:
        webhook = self._parts.webhooks.all.get(delivery.webhook)
        if webhook is None or webhook.disabled or not self._allowed(webhook):
            words = "the webhook is gone" if webhook is None else webhook.disabled
            words = words or "the settings do not allow its address any more"
            tried = answered(delivery, GONE, words, self._now())
        else:
            if delivery.id in self._new:
                await self._stored(delivery)
            sent_s = self._now()
            answer = await self._parts.carrier.post(
                webhook.url, headers(webhook, delivery, sent_s), delivery.body.encode()
            )
            tried = answered(delivery, answer.status, answer.words, self._now())
            if answer.status == GONE:
                await self._disable(webhook)
        self._settle(tried)
        await self._stored(tried)

    def _settle(self, delivery: Delivery) -> None:
        if delivery.state is DeliveryState.WAITING:
            self._waiting[delivery.id] = delivery
            return
        if self._waiting.pop(delivery.id, None) is not None:
            self._counts[delivery.webhook] -= 1
        self._new.discard(delivery.id)
        self.ended[delivery.state] += 1
        if delivery.state is DeliveryState.DEAD:
            self._dead[delivery.id] = delivery.webhook
            while len(self._dead) > RESTORED:
                del self._dead[next(iter(self._dead))]
            log.warning(
                "webhook.dead", webhook=delivery.webhook, id=delivery.id, reason=delivery.words
            )
            self._report()

    async def _stored(self, delivery: Delivery) -> None:
        """Keep its state; while the store is away, in memory only."""
        try:
            await self._parts.deliveries.put(delivery)
        except Retryable:
            return
        self._new.discard(delivery.id)

    async def _disable(self, webhook: Webhook) -> None:
        """The standard: who answers 410 wants nothing any more."""
        gone = replace(webhook, disabled="the receiver has answered 410 Gone")
        try:
            await self._parts.webhooks.keep(gone)
        except Retryable:
            log.warning("webhook.not_disabled", webhook=webhook.name)

    def _add(self, delivery: Delivery) -> None:
        mine = self._counts[delivery.webhook]
        if len(self._waiting) >= MOST_WAITING or mine >= MOST_WAITING_EACH:
            self.dropped += 1
            return
        self._counts[delivery.webhook] += 1
        self._waiting[delivery.id] = delivery
        self._new.add(delivery.id)
        self._due.set()

    def _message(self, webhook: Webhook, kind: EventKind, data: Mapping[str, object]) -> Delivery:
        now_s = self._now()
        body = {
            "type": kind.value,
            "timestamp": datetime.fromtimestamp(now_s, UTC).isoformat(),
            "data": data,
        }
        return Delivery(
            id=f"msg_{secrets.token_hex(12)}",
            webhook=webhook.name,
            kind=kind,
            body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
            created_s=now_s,
            next_s=now_s,
        )

    def _names_due(self) -> list[str]:
        now_s = self._now()
        due = {one.webhook for one in self._waiting.values() if is_due(one, now_s)}
        return sorted(due - self._busy)

    def _due_of(self, name: str) -> list[Delivery]:
        now_s = self._now()
        mine = [one for one in self._waiting.values() if one.webhook == name]
        # What happened at the same time goes in the order in which it was told.
        return sorted((one for one in mine if is_due(one, now_s)), key=lambda one: one.created_s)

    def _check_address(self, webhook: Webhook) -> None:
        parts = urlsplit(webhook.url)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.username:
            raise Invalid(
                "webhook_invalid",
                f"webhook {webhook.name[:80]}: {webhook.url[:200]!r} is no http or https address "
                "without a user",
            )
        if not self._allowed(webhook):
            origin = _origin_of(webhook)
            raise Refused(
                "webhook_origin_refused",
                f"nothing is sent to {origin}: name it in SIGNALBOX_WEBHOOK_ORIGINS first",
                {"origin": origin, "allowed": sorted(self._parts.origins)},
            )

    def _allowed(self, webhook: Webhook) -> bool:
        return _origin_of(webhook) in self._parts.origins

    def _report(self) -> None:
        counts = Counter(self._dead.values())
        self._findings.report(
            Source.WEBHOOKS,
            [
                Observation(
                    code="webhook_dead_letters",
                    subject=f"webhook/{name}",
                    message=f"{count} messages to webhook {name} were not taken: repair the "
                    "receiver, then send them again",
                    force=f"signalbox webhooks redeliver {next(iter(self._ids(name)))}",
                )
                for name, count in sorted(counts.items())
            ],
        )

    def _ids(self, name: str) -> list[str]:
        return [one for one, webhook in self._dead.items() if webhook == name]


def _origin_of(webhook: Webhook) -> str:
    parts = urlsplit(webhook.url)
    return f"{parts.scheme}://{parts.netloc}"
