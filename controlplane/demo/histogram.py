"""A histogram of times with logarithmic buckets.

Called by the load generator. Bounded in memory; quantiles are exact within 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

GROWTH = 1.05
LOWEST_S = 0.0005
BUCKETS = 240
_LOG_GROWTH = math.log(GROWTH)


@dataclass(slots=True, kw_only=True)
class Histogram:
    """Counts of times in seconds, with their exact sum."""

    total_s: float = 0.0
    count: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    def add(self, value_s: float) -> None:
        """Count one time in seconds."""
        index = int(math.log(max(value_s, LOWEST_S) / LOWEST_S) / _LOG_GROWTH)
        self.buckets[min(index, BUCKETS - 1)] += 1
        self.total_s += value_s
        self.count += 1

    def mean_s(self) -> float | None:
        """Mean in seconds; None when nothing was counted."""
        return self.total_s / self.count if self.count else None

    def quantile_s(self, share: float) -> float | None:
        """The time below which `share` (0..1) of the counted times lie; None without any."""
        wanted, seen = share * self.count, 0
        for index, count in enumerate(self.buckets):
            seen += count
            if count and seen >= wanted:
                return LOWEST_S * math.exp(_LOG_GROWTH * (index + 0.5))
        return None
