"""Bounded counters in memory."""

from collections.abc import Callable

from gateway.state.memory.expiring import Expiring
from gateway.state.ports import Bounds, Counted


class MemoryCounters:
    """See `ports.Counters`."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._kept: Expiring[int] = Expiring(now_s)

    async def add(self, key: str, amount: int, bounds: Bounds) -> Counted:
        found = self._kept.get(key)
        value = bounds.start if found is None else found
        if amount == 0:
            return Counted(value=value, added=True)
        wanted = value + amount
        # What is outside already, by bounds of before, may come back.
        too_high = amount > 0 and bounds.high is not None and wanted > bounds.high
        too_low = amount < 0 and bounds.low is not None and wanted < bounds.low
        if too_high or too_low:
            return Counted(value=value, added=False)
        ends_s = self._kept.ends_s(key)
        if found is None and bounds.ttl_s is not None:
            ends_s = self._now_s() + bounds.ttl_s
        self._kept.put_safe(key, wanted, ends_s)
        return Counted(value=wanted, added=True)
