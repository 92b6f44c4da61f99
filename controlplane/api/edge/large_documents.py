"""Reading what was sent: small documents at once, large ones beside the event loop.

Called by the resources that take documents.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from controlplane.domain.errors import Invalid

T = TypeVar("T")

# Read in some 10 ms.
SMALL_BYTES = 5_000
# What one declared route costs that a document is compared with.
BYTES_OF_A_ROUTE = 50


async def in_turn(request: Request, size_bytes: int, read: Callable[[], T]) -> T:
    """What `read` gives; of large documents one at a time, so that memory stays bounded."""
    if size_bytes <= SMALL_BYTES:
        return read()
    reading: asyncio.Semaphore = request.app.state.reading
    async with reading:
        return await asyncio.to_thread(read)


def text_of(body: bytes) -> str:
    """The text of a document that was sent."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            "fleet_unreadable", f"byte {error.start} of the document is not UTF-8; save it as UTF-8"
        ) from error
