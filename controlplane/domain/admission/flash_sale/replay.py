"""Same-page replay: who asks again within a short time gets his last answer, not a refusal.

Kept for users (what each was told) and for the item (what the newest query of it was told). In
order of time, so that what is over is dropped from the front; bounded, the oldest first.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Told = TypeVar("Told")


@dataclass(slots=True)
class Replay(Generic[Told]):
    """Last answers.

    Attributes:
        interval_s: how long an answer is given again; 0 never does.
        most: of how many keys answers are kept.
    """

    interval_s: float
    most: int
    _kept: OrderedDict[str, tuple[float, Told]] = field(default_factory=OrderedDict)

    def last(self, key: str, now_s: float) -> Told | None:
        """The answer that a key got within the interval."""
        found = self._kept.get(key)
        if found is None:
            return None
        told_s, told = found
        # A clock that went back must not make an answer last longer than the interval.
        if not 0 <= now_s - told_s < self.interval_s:
            del self._kept[key]
            return None
        return told

    def remember(self, key: str, told: Told, now_s: float) -> None:
        """Keep what a key is told now."""
        if self.interval_s <= 0:
            return
        self._kept.pop(key, None)
        self._kept[key] = (now_s, told)
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """Drop all answers: what they said is no longer so."""
        self._kept.clear()
