"""Keeps the engine's tasks alive: an unexpected error is logged, counted, and the task restarts.

Here and where the loop decides service by service are the only places that catch every
exception. Cancellation passes.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

LONGEST_PAUSE_S = 30.0


class Supervisor:
    """Restarts named tasks; `failures` counts by name."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()

    async def keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` for ever; after a failure again, with a growing pause."""
        pause_s = 0.1
        while True:
            try:
                await work()
                return
            except Exception:
                self.failures[name] += 1
                log.exception("task.failed", task=name, failures=self.failures[name])
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
