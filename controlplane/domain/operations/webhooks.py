"""Outgoing webhooks: what is sent to whom, how it is signed, and when it is tried again.

Signatures and headers are those of the Standard Webhooks specification 1.0.0 (symmetric, `v1`):
HMAC-SHA256 over `<id>.<timestamp>.<body>`. `engine.operations.webhooks` sends and counts time.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlsplit

from controlplane.domain.errors import Invalid

SECRET_PREFIX = "whsec_"
# The specification asks for 24 to 64 random bytes.
SECRET_BYTES = (24, 64)
# Tries at 0, 1, 3, 7, ... s and then every five minutes: twelve are over half an hour.
MOST_ATTEMPTS = 12
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
# Sums with seconds since 1970 are that exact at least.
ROUNDING_S = 0.001
# Spread of the pauses, so that many deliveries do not come back at once.
JITTER = 0.2
GONE = 410


class EventKind(StrEnum):
    """What is told. A webhook without a list gets all of them."""

    FINDING_APPEARED = "finding.appeared"
    FINDING_CLEARED = "finding.cleared"
    INTENT_CHANGED = "intent.changed"
    CHANGE_CHANGED = "change.changed"
    INCIDENT_OPENED = "incident.opened"
    INCIDENT_CLOSED = "incident.closed"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Who is told.

    Attributes:
        url: HTTPS, or HTTP on loopback; its origin is allowed by the settings.
        secret: `whsec_` and 24 to 64 bytes in base64; shown once, when it is made.
        events: which; () is all.
        disabled: why nothing is sent; "" when it is.
    """

    name: str
    url: str
    secret: str
    events: tuple[EventKind, ...] = ()
    disabled: str = ""

    def wants(self, kind: EventKind) -> bool:
        """Whether it is told of this."""
        return not self.disabled and (
            kind is EventKind.TEST or not self.events or kind in self.events
        )


class DeliveryState(StrEnum):
    """Where one message stands; the last two are final."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message to one webhook.

    Attributes:
        id: the receiver's key against repetitions; the same in every attempt; has no full stop.
        body: JSON text, sent as it stands.
        created_s: when it happened; next_s: when it is tried next; ended_s: when it was over.
        answer: status of the newest answer, 0 without one; words: why it did not go.
    """

    id: str
    webhook: str
    kind: EventKind
    body: str
    created_s: float
    next_s: float
    attempts: int = 0
    state: DeliveryState = DeliveryState.WAITING
    answer: int = 0
    words: str = ""
    ended_s: float | None = None


def audited(webhook: Webhook) -> str:
    """A webhook for the audit log and for incidents: where to, and whether it is another address.

    Paths and queries of many receivers are secrets of theirs, so they are left out.
    """
    parts = urlsplit(webhook.url)
    return f"{parts.scheme}://{parts.netloc} {hashlib.sha256(webhook.url.encode()).hexdigest()[:8]}"


def signature(secret: str, delivery_id: str, timestamp_s: int, body: bytes) -> str:
    """The `webhook-signature` of one attempt: `v1,` and the HMAC in base64.

    Raises:
        Invalid: the secret is none.
    """
    signed = b".".join((delivery_id.encode(), str(timestamp_s).encode(), body))
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(webhook: Webhook, delivery: Delivery, now_s: float) -> dict[str, str]:
    """What an attempt at `now_s` carries beside its body."""
    timestamp_s = int(now_s)
    return {
        "content-type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": signature(
            webhook.secret, delivery.id, timestamp_s, delivery.body.encode()
        ),
    }


def secret_of(key: bytes) -> str:
    """A key as it is handed over."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def key_of(secret: str) -> bytes:
    """The key in a secret; Invalid when there is none of 24 to 64 bytes."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    least, most = SECRET_BYTES
    if not secret.startswith(SECRET_PREFIX) or not least <= len(key) <= most:
        raise Invalid(
            "webhook_secret_invalid",
            f"a webhook's secret is {SECRET_PREFIX} and {least} to {most} random bytes in base64; "
            "leave it out, and one is made",
        )
    return key


def pause_s(attempts: int, delivery_id: str) -> float:
    """Seconds until the next try after so many: none before the first, then doubled each time up to
    five minutes.

    The jitter comes from the id, so that a restart does not change it.
    """
    if attempts < 1:
        return 0.0
    full = min(FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 30), LONGEST_PAUSE_S)
    place = hashlib.sha256(f"{delivery_id}{attempts}".encode()).digest()[0] / 255
    return full * (1 - JITTER + 2 * JITTER * place)


def is_due(delivery: Delivery, now_s: float) -> bool:
    """Whether it is to be tried now; one that would wait longer than its pause has outlived a clock
    that was set back."""
    longest_s = pause_s(delivery.attempts, delivery.id) + ROUNDING_S
    return not 0 < delivery.next_s - now_s <= longest_s


def answered(delivery: Delivery, answer: int, words: str, now_s: float) -> Delivery:
    """The delivery after one attempt; a 2xx ends it, the last one that fails makes it dead.

    Args:
        answer: HTTP status, 0 when none came; `words` say why not.
    """
    tried = replace(delivery, attempts=delivery.attempts + 1, answer=answer, words=words)
    if 200 <= answer < 300:
        return replace(tried, state=DeliveryState.DELIVERED, words="", ended_s=now_s)
    if answer == GONE or tried.attempts >= MOST_ATTEMPTS:
        return replace(tried, state=DeliveryState.DEAD, ended_s=now_s)
    return replace(tried, next_s=now_s + pause_s(tried.attempts, delivery.id))


def again(delivery: Delivery, now_s: float) -> Delivery:
    """A delivery from its beginning, under the same id, because somebody asks for it."""
    return replace(
        delivery,
        state=DeliveryState.WAITING,
        attempts=0,
        next_s=now_s,
        answer=0,
        words="",
        ended_s=None,
    )
