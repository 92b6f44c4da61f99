"""Values in memory."""

from collections.abc import Callable

from gateway.state.memory.expiring import Expiring


class MemoryValues:
    """See `ports.Values`."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._kept: Expiring[bytes] = Expiring(now_s)

    async def get(self, key: str) -> bytes | None:
        return self._kept.get(key)

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        ends_s = float("inf") if ttl_s is None else self._now_s() + ttl_s
        self._kept.put_safe(key, value, ends_s)

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        if self._kept.get(key) != expected:
            return False
        if value is None:
            self._kept.drop(key)
        else:
            await self.set(key, value, ttl_s)
        return True
