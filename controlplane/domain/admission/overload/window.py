"""How much was asked of an upstream lately: a sliding count in bounded memory.

Counted are *intended* requests, those answered from cache included: counting only what reaches the
upstream would end the protection by its own effect.
"""

SLOTS = 60


class SlidingCount:
    """A count over the last `window_s` seconds, in `SLOTS` parts.

    The part that is just leaving counts by the share of it that is still inside, so the error is
    below what was asked in one part.
    """

    __slots__ = ("_counts", "_slot", "_slot_s", "_total")

    def __init__(self, window_s: float) -> None:
        self._slot_s = window_s / SLOTS
        # One part more than the window has: the one that is leaving.
        self._counts = [0.0] * (SLOTS + 1)
        self._slot = 0
        self._total = 0.0

    def add(self, now_s: float, amount: float = 1.0) -> None:
        """Count at a time; a time before the last one counts as the last one."""
        self._advance(now_s)
        self._counts[self._slot % (SLOTS + 1)] += amount
        self._total += amount

    def count(self, now_s: float) -> float:
        """How much the window holds at a time."""
        self._advance(now_s)
        leaving = self._counts[(self._slot + 1) % (SLOTS + 1)]
        # What has gone of the part that is leaving is what has come of the newest.
        gone = min(max(now_s / self._slot_s - self._slot, 0.0), 1.0)
        return max(self._total - leaving * gone, 0.0)

    def _advance(self, now_s: float) -> None:
        slot = int(now_s // self._slot_s)
        for passed in range(self._slot + 1, min(slot, self._slot + SLOTS + 1) + 1):
            at = passed % (SLOTS + 1)
            self._total -= self._counts[at]
            self._counts[at] = 0.0
        if slot > self._slot + SLOTS:
            self._counts = [0.0] * (SLOTS + 1)
            self._total = 0.0
        self._slot = max(slot, self._slot)
