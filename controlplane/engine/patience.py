"""Patience at a start: a store that is busy is asked again, so a slow disk is no failed start.

Called by `wiring` around each step that reads what the last process left. An outage that waiting
does not end (no file, no right, no room) ends the start at once, with its reason.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from controlplane.domain.errors import Retryable
from controlplane.ports.stores import STORE_BUSY

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Longer than a checkpoint or a copy on a slow disk; a process supervisor starts us again after it.
LONGEST_S = 60.0
PAUSE_S = 0.2


async def patiently(step: Callable[[], Awaitable[T]]) -> T:
    """What the step returns; it is repeated while the store is busy, for `LONGEST_S` at most.

    Raises:
        Retryable: another outage, or busy for too long.
    """
    clock = asyncio.get_running_loop().time
    end_s = clock() + LONGEST_S
    while True:
        try:
            return await step()
        except Retryable as error:
            if error.details.get("reason") not in STORE_BUSY or clock() >= end_s:
                raise
            log.warning("serve.store_busy", reason=error.message)
        await asyncio.sleep(PAUSE_S)
