"""What proves that a node gave a user an order form, and the quiz of a sale.

Both come from the key of the opening (HMAC-SHA-256), so that every node checks what another one
gave out and nobody has to store it; before the opening there is no key.
"""

import hashlib
import hmac
from dataclasses import dataclass

# 128 bits: nobody guesses one in the time of a sale.
SEAL_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A small sum; `answer` is what the buyer has to send."""

    text: str
    answer: str


def ticket(key: str, user: str, given_ms: int) -> str:
    """The ticket of a form: when it was given out (milliseconds of Unix time), and a seal."""
    return f"{given_ms}.{_seal(key, f'form {given_ms} {user}')}"


def given_ms(key: str, user: str, text: str) -> int | None:
    """When the form of a ticket was given out; None when it is not this user's, or was changed."""
    moment, dot, seal = text.partition(".")
    if not dot or not moment.isascii() or not moment.isdigit() or len(moment) > 15:
        return None
    expected = _seal(key, f"form {int(moment)} {user}")
    return int(moment) if hmac.compare_digest(expected.encode(), _bytes(seal)) else None


def question(key: str, user: str) -> Question:
    """The sum that this user has to solve in this sale: two numbers from 10 to 99."""
    seal = int(_seal(key, f"quiz {user}"), 16)
    first, second = 10 + seal % 90, 10 + seal // 90 % 90
    return Question(text=f"{first} + {second}", answer=str(first + second))


def order_id(sale: str, user: str) -> str:
    """The one order that a user has in a sale: sent twice it is still one."""
    return hashlib.sha256(_bytes(f"{len(sale)} {sale} {user}")).hexdigest()[:SEAL_DIGITS]


def is_code(digests: tuple[str, ...], code: str) -> bool:
    """Whether a code is one of those that were announced; white space around it is no matter."""
    return hashlib.sha256(_bytes(code.strip())).hexdigest() in digests


def _seal(key: str, text: str) -> str:
    return hmac.new(key.encode(), _bytes(text), hashlib.sha256).hexdigest()[:SEAL_DIGITS]


def _bytes(text: str) -> bytes:
    # What a client sends may be no UTF-8: then it is nobody's, and no fault of ours.
    return text.encode("utf-8", "surrogatepass")
