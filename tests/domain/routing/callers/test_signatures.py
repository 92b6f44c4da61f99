"""Keys and signed requests."""

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest

from controlplane.domain.routing.callers.signatures import (
    Remembered,
    Signed,
    signature,
    taken,
    verify,
)

SECRET, NOW_S, WINDOW_S = b"secret", 1_900_000_000, 300
REQUEST = Signed(
    method="POST",
    host="api.example.com",
    target="/orders?fast=1",
    key="agency",
    time_s=NOW_S,
    nonce="b7c1a90f55e04d2c",
    content_sha256=hashlib.sha256(b"body").hexdigest(),
)


def passes(request: Signed, sent: str, now_s: float = NOW_S) -> bool:
    return verify(request, sent, SECRET, now_s=now_s, window_s=WINDOW_S)


def test_a_signature_is_over_six_lines() -> None:
    text = "\n".join(("POST", "api.example.com", "/orders?fast=1", str(NOW_S), REQUEST.nonce))
    wanted = hmac.new(SECRET, f"{text}\n{REQUEST.content_sha256}".encode(), "sha256").digest()
    assert signature(REQUEST, SECRET) == base64.b64encode(wanted).decode()
    assert passes(REQUEST, signature(REQUEST, SECRET))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "GET"},
        {"host": "other.example.com"},
        {"target": "/orders"},
        {"time_s": NOW_S + 1},
        {"nonce": "b7c1a90f55e04d2d"},
        {"content_sha256": hashlib.sha256(b"other").hexdigest()},
    ],
)
def test_whatever_is_changed_is_noticed(change: dict[str, object]) -> None:
    assert not passes(replace(REQUEST, **change), signature(REQUEST, SECRET))


@pytest.mark.parametrize("sent", ["", "*", "AAAA", signature(REQUEST, b"other")])
def test_another_signature_is_none(sent: str) -> None:
    assert not passes(REQUEST, sent)


@pytest.mark.parametrize("change", [{"nonce": "short"}, {"content_sha256": "9F"}])
def test_a_malformed_part_is_refused_whoever_signed_it(change: dict[str, str]) -> None:
    odd = replace(REQUEST, **change)
    assert not passes(odd, signature(odd, SECRET))


@pytest.mark.parametrize(
    ("apart_s", "holds"),
    [(0, True), (WINDOW_S, True), (-WINDOW_S, True), (WINDOW_S + 1, False), (-WINDOW_S - 1, False)],
)
def test_a_signature_is_of_now(apart_s: int, holds: bool) -> None:
    assert passes(REQUEST, signature(REQUEST, SECRET), NOW_S + apart_s) is holds


def test_a_signature_passes_once() -> None:
    memory = Remembered()
    limits = {"window_s": WINDOW_S, "most": 2}
    first, memory = taken(REQUEST, memory, now_s=NOW_S, **limits)
    again, memory = taken(REQUEST, memory, now_s=NOW_S + 10, **limits)
    other, memory = taken(replace(REQUEST, nonce="c" * 16), memory, now_s=NOW_S, **limits)
    assert (first, again, other) == (True, False, True)
    # The memory is full: to forget one would let it pass again.
    third = replace(REQUEST, nonce="d" * 16)
    full, memory = taken(third, memory, now_s=NOW_S + WINDOW_S, **limits)
    later = replace(third, time_s=NOW_S + WINDOW_S + 1)
    free, memory = taken(later, memory, now_s=NOW_S + WINDOW_S + 1, **limits)
    assert (full, free, len(memory.until_s)) == (False, True, 1)
