"""Bells: who waits for something to happen is rung, and never misses it.

A listener is there before it looks: what happens between looking and waiting rings, too.
"""

import asyncio
import contextlib
from collections.abc import Iterator


class Bells:
    """One bell for each key that somebody listens to; a key without listeners costs nothing."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}

    @contextlib.contextmanager
    def listen(self, key: str) -> Iterator[asyncio.Event]:
        """An event that is set each time the key's bell is rung; whoever waits clears it."""
        event = asyncio.Event()
        listeners = self._listeners.setdefault(key, set())
        listeners.add(event)
        try:
            yield event
        finally:
            listeners.discard(event)
            if not listeners and self._listeners.get(key) is listeners:
                del self._listeners[key]

    def ring(self, key: str) -> None:
        """Something has happened."""
        for event in self._listeners.get(key, ()):
            event.set()

    def ring_all(self) -> None:
        """Nobody knows what has happened."""
        for key in tuple(self._listeners):
            self.ring(key)
