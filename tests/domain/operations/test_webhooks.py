"""Signatures by the standard, and when a delivery is tried again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.errors import Invalid
from controlplane.domain.operations.webhooks import (
    GONE,
    LONGEST_PAUSE_S,
    MOST_ATTEMPTS,
    Delivery,
    DeliveryState,
    EventKind,
    Webhook,
    again,
    answered,
    audited,
    headers,
    is_due,
    key_of,
    pause_s,
    secret_of,
    signature,
)

# Key, message and signature that the specification's own libraries test with.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WEBHOOK = Webhook(name="pager", url="https://pager.example/hook", secret=SECRET)
DELIVERY = Delivery(
    id="msg_p5jXN8AQM9LWM0D4loKWxJek",
    webhook="pager",
    kind=EventKind.FINDING_APPEARED,
    body='{"test": 2432232314}',
    created_s=1.0,
    next_s=1.0,
)


def test_the_signature_is_the_standards() -> None:
    made = signature(SECRET, DELIVERY.id, 1614265330, DELIVERY.body.encode())
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_an_attempt_carries_the_standards_headers() -> None:
    assert headers(WEBHOOK, DELIVERY, 1614265330.9) == {
        "content-type": "application/json",
        "webhook-id": DELIVERY.id,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_holds_its_key(key: bytes) -> None:
    assert key_of(secret_of(key)) == key


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_?", secret_of(b"short"), secret_of(bytes(65)), SECRET[6:]]
)
def test_what_is_no_secret(secret: str) -> None:
    with pytest.raises(Invalid, match="24 to 64 random bytes"):
        key_of(secret)


def test_a_webhook_without_a_list_wants_all() -> None:
    assert WEBHOOK.wants(EventKind.FINDING_CLEARED)
    chosen = replace(WEBHOOK, events=(EventKind.FINDING_CLEARED,))
    assert chosen.wants(EventKind.FINDING_CLEARED)
    assert chosen.wants(EventKind.TEST)
    assert not chosen.wants(EventKind.INTENT_CHANGED)
    assert not replace(WEBHOOK, disabled="gone").wants(EventKind.TEST)


def test_pauses_double_up_to_five_minutes() -> None:
    pauses = [pause_s(attempts, "id") for attempts in range(1, MOST_ATTEMPTS)]
    full = [min(2.0**n, LONGEST_PAUSE_S) for n in range(MOST_ATTEMPTS - 1)]
    assert all(0.8 * b <= a <= 1.2 * b for a, b in zip(pauses, full, strict=True))
    assert pause_s(1, "id") == pauses[0]
    assert len({pause_s(1, str(number)) for number in range(20)}) > 10


def test_a_success_ends_it() -> None:
    done = answered(DELIVERY, 204, "", 3.0)
    assert (done.state, done.attempts, done.answer, done.ended_s) == (
        DeliveryState.DELIVERED,
        1,
        204,
        3.0,
    )


def test_a_failure_is_tried_again_and_the_last_one_is_dead() -> None:
    tried = DELIVERY
    for attempt in range(1, MOST_ATTEMPTS):
        tried = answered(tried, 503, "503", 10.0)
        assert (tried.state, tried.attempts) == (DeliveryState.WAITING, attempt)
        assert tried.next_s > 10.0
    dead = answered(tried, 0, "no answer", 11.0)
    assert (dead.state, dead.words, dead.ended_s) == (DeliveryState.DEAD, "no answer", 11.0)


def test_gone_is_dead_at_once() -> None:
    assert answered(DELIVERY, GONE, "gone", 3.0).state is DeliveryState.DEAD


def test_again_is_from_the_beginning_under_the_same_id() -> None:
    dead = answered(DELIVERY, GONE, "gone", 3.0)
    assert again(dead, 9.0) == replace(DELIVERY, next_s=9.0)


def test_the_audit_log_has_no_secret_of_an_address() -> None:
    hook = Webhook(name="chat", url="https://chat.example/services/T0/s3cret?key=abc", secret="")
    told = audited(hook)
    assert told.startswith("https://chat.example ")
    assert "s3cret" not in told
    assert audited(replace(hook, url="https://chat.example/other")) != told


@given(st.floats(1.0e9, 2.0e9), st.integers(1, MOST_ATTEMPTS - 2))
def test_no_rounding_makes_one_due(now_s: float, attempts: int) -> None:
    assert not is_due(answered(replace(DELIVERY, attempts=attempts), 503, "503", now_s), now_s)


def test_one_waits_for_its_pause_and_no_longer() -> None:
    assert is_due(DELIVERY, DELIVERY.next_s)
    # Made before the clock was set back.
    assert is_due(DELIVERY, DELIVERY.next_s - 3_600.0)
    tried = answered(DELIVERY, 503, "503", 100.0)
    assert not is_due(tried, 100.0)
    assert is_due(tried, tried.next_s)
    assert is_due(tried, 100.0 - 3_600.0)
