"""One writer after another, and none waits for a store that has just failed the one before.

Used by what reads, decides and writes in one step (tokens, models, forced findings). With a plain
lock the deadlines of a store that is away would add up: the tenth caller would wait ten times.
"""

import asyncio
from types import TracebackType

from controlplane.domain.errors import Retryable


class Turns:
    """As `asyncio.Lock` in `async with`; who waited behind a failure fails alike, at once.

    Raises:
        Retryable: the store did not serve the one before, while this one waited.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failures = 0
        self._last = Retryable("store_unavailable", "the database does not answer")

    async def __aenter__(self) -> None:
        failures = self._failures
        await self._lock.acquire()
        if failures != self._failures:
            self._lock.release()
            last = self._last
            raise Retryable(last.code, last.message, last.details, last.after_s)

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Retryable):
            self._failures += 1
            self._last = error
        self._lock.release()
