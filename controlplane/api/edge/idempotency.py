"""`Idempotency-Key`: a write that creates may be sent again and happens once.

Called by the resources that create. Answers are kept in memory, never in the store, because one
of them is a token's secret; so a key is forgotten when the process ends. Must stay bounded.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Header, Request

from controlplane.domain.access import Principal
from controlplane.domain.errors import Invalid

T = TypeVar("T")

KEPT_S = 86_400.0
MOST_KEPT = 1_000
KEY_RULE = r"^[!-~]{1,200}$"

# Token, method and path, key: nobody reads another's answer.
Name = tuple[str, str, str]


@dataclass(slots=True)
class _Kept:
    """An answer, or a write under way whose repetitions wait behind the lock.

    Attributes:
        callers: who writes, or waits to write should that one fail.
    """

    fingerprint: str
    since_s: float
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    callers: int = 0
    done: bool = False
    answer: object = None


class Answers:
    """Answers by key, for a day, the newest thousand."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Name, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def once(self, name: Name, fingerprint: str, write: Callable[[], Awaitable[T]]) -> T:
        """The answer of the first write under this name; one that failed is not kept.

        Raises:
            Invalid: `idempotency_key_reused`, with another body or query.
        """
        self._forget()
        kept = self._kept.setdefault(name, _Kept(fingerprint, self._clock()))
        if kept.fingerprint != fingerprint:
            raise Invalid(
                "idempotency_key_reused",
                f"the key {name[2]!r} came with another request before; take a new key",
            )
        kept.callers += 1
        try:
            async with kept.writing:
                if not kept.done:
                    kept.answer = await write()
                    kept.done = True
        finally:
            kept.callers -= 1
            # A repetition that waited writes after one that failed: its answer is kept here, too.
            if not kept.done and not kept.callers:
                del self._kept[name]
        return cast("T", kept.answer)

    def _forget(self) -> None:
        """Drop what is old, and the oldest of what is too much; never a write under way."""
        oldest_s = self._clock() - KEPT_S
        over = len(self._kept) - MOST_KEPT + 1
        for name, kept in list(self._kept.items()):
            if over <= 0 and kept.since_s > oldest_s:
                return
            if kept.done:
                del self._kept[name]
                over -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write that may be a repetition; without a key it never is."""

    answers: Answers
    path: str
    key: str | None
    fingerprint: str

    async def once(self, caller: Principal, write: Callable[[], Awaitable[T]]) -> T:
        """Do it, or answer as it was answered before."""
        if self.key is None:
            return await write()
        name = (caller.token_id, self.path, self.key)
        return await self.answers.once(name, self.fingerprint, write)


async def _write(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(pattern=KEY_RULE, description="The same key does it once; kept for a day."),
    ] = None,
) -> Write:
    content = request.url.query.encode() + b"\n" + await request.body()
    return Write(
        answers=request.app.state.answers,
        path=f"{request.method} {request.url.path}",
        key=idempotency_key,
        fingerprint=hashlib.sha256(content).hexdigest(),
    )


Repeatable = Annotated[Write, Depends(_write)]
