"""When each of many keys is over; a deadline may be moved at any time.

Used by `room`. Holds one entry for each key, however often its deadline moves back.
"""

import heapq
from collections.abc import Iterator


class Deadlines:
    """Keys with the times at which they end."""

    __slots__ = ("_at", "_noted", "_order")

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        # What stands in the heap of each key: it is looked at then, and put back when it moved.
        self._noted: dict[str, float] = {}
        self._order: list[tuple[float, str]] = []

    def __contains__(self, key: str) -> bool:
        return key in self._at

    def put(self, key: str, at_s: float) -> None:
        """Set or move a deadline."""
        self._at[key] = at_s
        if at_s < self._noted.get(key, float("inf")):
            self._noted[key] = at_s
            heapq.heappush(self._order, (at_s, key))

    def drop(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self._at.pop(key, None) is not None

    def over(self, now_s: float) -> Iterator[str]:
        """Take out, one by one, the keys whose time has come."""
        while self._order and self._order[0][0] <= now_s:
            noted_s, key = heapq.heappop(self._order)
            if self._noted.get(key) != noted_s:
                continue
            del self._noted[key]
            at_s = self._at.get(key)
            if at_s is None:
                continue
            if at_s <= now_s:
                del self._at[key]
                yield key
            else:
                self.put(key, at_s)
