"""What buyers of a sale read: small JSON answers, made once where they are the same for all.

Before the opening every purchase address gets the same answer, right or wrong: nobody can tell a
guess from the token.
"""

import json
from dataclasses import dataclass

from controlplane.domain.admission.flash_sale.life import Phase
from gateway.direct_http import Header, wire

_JSON: tuple[Header, ...] = (
    (b"Content-Type", b"application/json"),
    (b"Cache-Control", b"no-store"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer.

    Attributes:
        outcome: stable word, for the page's script and for logs.
        wired: the whole answer over HTTP/1.1.
    """

    outcome: str
    status: int
    headers: tuple[Header, ...]
    body: bytes
    wired: bytes


def page(
    outcome: str,
    status: int,
    told: dict[str, object] | None = None,
    headers: tuple[Header, ...] = (),
) -> Page:
    """Make an answer: `{"outcome": ..., **told}`."""
    body = json.dumps({"outcome": outcome, **(told or {})}, separators=(",", ":")).encode()
    every = (*_JSON, *headers)
    return Page(
        outcome=outcome,
        status=status,
        headers=every,
        body=body,
        wired=wire(status, body, every),
    )


def _again(seconds: bytes) -> tuple[Header, ...]:
    return ((b"Retry-After", seconds),)


NOT_HERE = page("not_here", 404)
NOT_ALLOWED = page("not_allowed", 405)
NO_USER = page("no_user", 401)
ENDED = page("ended", 410)
SOLD_OUT = page("sold_out", 410)
NO_FORM = page("no_form", 403)
WRONG_ANSWER = page("challenge_failed", 403)
TOO_FAST = page("too_fast", 403)
REFUSED = page("refused", 409)
BUSY = page("busy", 503, headers=_again(b"1"))
PENDING = page("pending", 202, headers=_again(b"1"))


def accepted(order: str) -> Page:
    """The item is bought."""
    return page("accepted", 201, {"order": order})


def form(ticket: str, question: str, cookie: Header) -> Page:
    """The order form of one user; `question` is "" without a challenge."""
    asked = {"question": question} if question else {}
    return page("form", 200, {"ticket": ticket, **asked}, (cookie,))


def script(phase: Phase, times_s: tuple[float, float], purchase: str) -> bytes:
    """The tiny script object of a sale; `purchase` is "" unless the sale is open."""
    told = {
        "phase": phase.value,
        "opens_at_ms": round(times_s[0] * 1_000),
        "ends_at_ms": round(times_s[1] * 1_000),
        "purchase": purchase or None,
    }
    body = f"window.signalboxSale={json.dumps(told, separators=(',', ':'))};\n".encode()
    kind = (b"Content-Type", b"text/javascript")
    return wire(200, body, (kind, (b"Cache-Control", b"no-store")))
