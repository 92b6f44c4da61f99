"""A bounded dictionary whose entries end. Pure but for its clock."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from controlplane.domain.errors import Retryable

Kept = TypeVar("Kept")
MOST_KEYS = 100_000
# Entries looked at on each write: as many as may come in, and one more to catch up.
SWEPT = 2


class Expiring(Generic[Kept]):
    """Values by key until a time.

    Args:
        now_s: the clock.
        most: keys that are kept at once.
    """

    def __init__(self, now_s: Callable[[], float], most: int = MOST_KEYS) -> None:
        self._now_s = now_s
        self._most = most
        self._kept: OrderedDict[str, tuple[Kept, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Kept | None:
        """What is kept; None when there is nothing, or no longer."""
        found = self._kept.get(key)
        if found is None:
            return None
        if found[1] <= self._now_s():
            del self._kept[key]
            return None
        return found[0]

    def ends_s(self, key: str) -> float:
        """When an entry ends; infinity when it does not, or is not there."""
        found = self._kept.get(key)
        return float("inf") if found is None else found[1]

    def put(self, key: str, value: Kept, ends_s: float) -> None:
        """Keep a value; the one that was written longest ago makes room.

        For what starts anew without harm, as a bucket does.
        """
        self._write(key, value, ends_s)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def put_safe(self, key: str, value: Kept, ends_s: float) -> None:
        """Keep a value; nothing else makes room for it.

        Raises:
            Retryable: `shared_state_full`.
        """
        if key not in self._kept and len(self._kept) >= self._most:
            self._sweep(len(self._kept))
            if len(self._kept) >= self._most:
                raise Retryable(
                    "shared_state_full",
                    f"this agent remembers {self._most} keys already, which is its limit; give it "
                    "a Redis (--redis)",
                )
        self._write(key, value, ends_s)

    def drop(self, key: str) -> None:
        """Forget an entry."""
        self._kept.pop(key, None)

    def _write(self, key: str, value: Kept, ends_s: float) -> None:
        self._kept[key] = (value, ends_s)
        self._kept.move_to_end(key)
        self._sweep(SWEPT)

    def _sweep(self, count: int) -> None:
        now_s = self._now_s()
        for key in [one for one, _ in zip(self._kept, range(count), strict=False)]:
            if self._kept[key][1] <= now_s:
                del self._kept[key]
            else:
                # The oldest entry may be one that never ends: those behind it have their turn too.
                self._kept.move_to_end(key)
