"""Sliding windows in memory.

The count of a window at time t is that of its whole slots, plus that of the slot which is leaving
times the share of it that is still inside: exact at the end of a slot, and between two ends as if
requests had come evenly within one slot.
"""

from collections.abc import Callable, Mapping

from gateway.state.memory.expiring import Expiring
from gateway.state.ports import Windowed, WindowRule


class MemoryWindows:
    """See `ports.Windows`; of each key the amount by number of slot."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._kept: Expiring[dict[int, float]] = Expiring(now_s)

    async def add(self, key: str, amount: float, rule: WindowRule) -> Windowed:
        now_s = self._now_s()
        slot_s = rule.window_s / rule.slots
        place = now_s / slot_s
        newest = int(place)
        leaving = newest - rule.slots
        kept = self._kept.get(key) or {}
        amounts = {slot: held for slot, held in kept.items() if slot >= leaving}
        inside = {leaving: 1.0 - (place - newest)}
        count = sum(held * inside.get(slot, 1.0) for slot, held in amounts.items())
        excess = count + amount - rule.limit
        if excess > 0:
            ends = _leaves(amounts, inside, excess)
            wait_s = (ends + rule.slots + 1) * slot_s - now_s
            return Windowed(count=count, added=False, retry_after_s=wait_s)
        if amount:
            amounts[newest] = amounts.get(newest, 0.0) + amount
            self._kept.put(key, amounts, now_s + rule.window_s + slot_s)
        return Windowed(count=count + amount, added=True, retry_after_s=0.0)


def _leaves(amounts: Mapping[int, float], inside: Mapping[int, float], excess: float) -> float:
    """The slot after whose leaving there is room; infinity when there never is."""
    for slot in sorted(amounts):
        excess -= amounts[slot] * inside.get(slot, 1.0)
        if excess <= 0:
            return slot
    return float("inf")
