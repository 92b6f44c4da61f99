"""What each primitive of shared state promises; one small Protocol for each concept.

`memory` keeps them for one agent, `redis` for several; `tests/gateway/state` tries both with one
suite. Each call is atomic. Keys come from `keys.key`. Every method may raise Retryable:
`shared_state_away` when it did not answer in time, `shared_state_full` when it has no room,
`shared_state_refused` when it answered with another error.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.admission.overload.line import Taken as Lent
from controlplane.domain.admission.overload.line import Terms as LineTerms
from controlplane.domain.admission.session_queue.control import Period
from controlplane.domain.admission.session_queue.room import Terms, Visited, Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """A sliding window.

    Attributes:
        window_s: its length, above 0.
        limit: nothing is added that would bring the count above it; infinity only counts.
        slots: parts that the window is counted in, 2..100; the one that is just leaving counts by
            the share of it that is still inside.
    """

    window_s: float
    limit: float = float("inf")
    slots: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """What a window holds.

    Attributes:
        count: in the window, with what was just added.
        added: it was within the limit.
        retry_after_s: at most so long until the same amount fits; 0 when it was added.
    """

    count: float
    added: bool
    retry_after_s: float


class Windows(Protocol):
    """Counts over sliding windows."""

    async def add(self, key: str, amount: float, rule: WindowRule) -> Windowed:
        """Add an amount if the limit allows it; 0 reads the count."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRule:
    """A token bucket.

    Attributes:
        rate_per_s: tokens that flow in, above 0.
        burst: tokens that it holds, above 0.
        start: tokens of a key that is new; None is a full bucket.
    """

    rate_per_s: float
    burst: float
    start: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a bucket gave.

    Attributes:
        taken: all that was asked for, or nothing.
        left: tokens in the bucket now.
        retry_after_s: until it holds the amount; 0 when taken, infinity when it never will.
    """

    taken: bool
    left: float
    retry_after_s: float


class Buckets(Protocol):
    """Token buckets."""

    async def take(self, key: str, amount: float, rule: BucketRule) -> Taken:
        """Take tokens, all or none; 0 reads what is there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a counter ends.

    Attributes:
        low, high: smallest and greatest value; None is no bound.
        start: value of a key that is new.
        ttl_s: forgotten so long after its first change; None is never.
    """

    low: int | None = None
    high: int | None = None
    start: int = 0
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A counter: its value now, and whether the amount was within the bounds."""

    value: int
    added: bool


class Counters(Protocol):
    """Whole numbers that never leave their bounds."""

    async def add(self, key: str, amount: int, bounds: Bounds) -> Counted:
        """Add an amount, which may be negative, or nothing of it; 0 reads the value."""
        ...


class Values(Protocol):
    """Bytes by key; `ttl_s` None keeps them until they are deleted."""

    async def get(self, key: str) -> bytes | None:
        """The value; None is absent."""
        ...

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Put a value in place of whatever is there."""
        ...

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Put a value where exactly `expected` is (None: nothing); a value of None deletes it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Answers that one agent has seen: how many, how many of them failed, seconds of all."""

    answers: int = 0
    failures: int = 0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """A pool as it is now.

    Attributes:
        size, inside, waiting: 0 is a size that nobody has set.
        note: of who sized it last, b"" is none.
        number: of the period, for `resize`.
        ended: what all agents saw in the period that has just ended; exactly one agent gets it.
    """

    size: int
    inside: int
    waiting: int
    note: bytes
    number: int
    ended: Period | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """A decision about a pool: its size, a note for the next decision, the period it is made of."""

    size: int
    note: bytes
    number: int


class Pools(Protocol):
    """Sessions that are served and sessions that wait; see `session_queue.room` for the rules."""

    async def visit(self, key: str, visitors: Sequence[Visitor], terms: Terms) -> Sequence[Visited]:
        """Several who ask, one after the other."""
        ...

    async def leave(self, key: str, session: str, remembered_s: float) -> bool:
        """Take somebody out; whether he was there."""
        ...

    async def tell(self, key: str, times: Times, period_s: float) -> PoolState:
        """Add what an agent has seen, and end the period when it is as old as that."""
        ...

    async def resize(self, key: str, sized: Sized) -> bool:
        """Carry out a decision, unless a period has ended since."""
        ...


class Leases(Protocol):
    """One token for each key: at most one has it; see `overload.line` for the rules."""

    async def take(self, key: str, waiter: str, terms: LineTerms) -> Lent:
        """Ask for the token, for the first time or again."""
        ...

    async def release(self, key: str, waiter: str, fence: int) -> bool:
        """Give the token back and wake who waits; False when it is another's by now."""
        ...

    async def finish(self, key: str, waiter: str, fence: int) -> bool:
        """As `release`, with an answer that all who wait get: the line is empty afterwards."""
        ...

    async def leave(self, key: str, waiter: str) -> None:
        """Wait no longer."""
        ...

    async def now_us(self) -> int:
        """The time that fences are made of, in microseconds of Unix time or of any clock."""
        ...

    def listen(self, key: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever a token or an answer of this key came, or may have."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """An answer to be cached; `fence` is its token's, or the time at which it was asked for."""

    fence: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """A cached answer; `age_s` is since it was put there."""

    fence: int
    body: bytes
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of a shelf is kept: no answer longer than `ttl_s`, no more than so many bytes."""

    ttl_s: float
    most_bytes: int


class Answers(Protocol):
    """Cached answers on shelves; of several for one key the one with the greatest fence stays."""

    async def get(self, shelf: str, key: str) -> Cached | None:
        """The answer; None is none."""
        ...

    async def put(self, shelf: str, key: str, fresh: Fresh, room: Room) -> bool:
        """Keep an answer and wake who waits for it; False when a newer one is there."""
        ...
