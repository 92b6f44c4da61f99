"""Work that somebody asks for: it is done soon, and many wishes at once are one.

The calendar and a start ask; `supervision` keeps `run` alive. Joined by `wiring`.
"""

import asyncio
from collections.abc import Awaitable, Callable


class Errand:
    """Does its work whenever poked."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._due = asyncio.Event()

    def poke(self) -> None:
        """Ask for it soon; never blocks."""
        self._due.set()

    async def run(self) -> None:
        """Do it whenever poked, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._work()
