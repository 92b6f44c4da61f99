"""Token buckets in memory."""

from collections.abc import Callable

from gateway.state.memory.expiring import Expiring
from gateway.state.ports import BucketRule, Taken

# A bucket that has been full for so long is the same as none.
SLACK_S = 1.0


class MemoryBuckets:
    """See `ports.Buckets`; of each key the tokens and when they were counted."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._kept: Expiring[tuple[float, float]] = Expiring(now_s)

    async def take(self, key: str, amount: float, rule: BucketRule) -> Taken:
        return self.take_now(key, amount, rule)

    def take_now(self, key: str, amount: float, rule: BucketRule) -> Taken:
        """The same for who may not wait."""
        now_s = self._now_s()
        new = rule.burst if rule.start is None else min(rule.start, rule.burst)
        tokens, at_s = self._kept.get(key) or (new, now_s)
        tokens = min(rule.burst, tokens + max(0.0, now_s - at_s) * rule.rate_per_s)
        taken = amount <= tokens
        tokens -= amount if taken else 0.0
        full_s = (rule.burst - tokens) / rule.rate_per_s
        self._kept.put(key, (tokens, now_s), now_s + full_s + SLACK_S)
        wait_s = 0.0
        if not taken:
            never = amount > rule.burst
            wait_s = float("inf") if never else (amount - tokens) / rule.rate_per_s
        return Taken(taken=taken, left=tokens, retry_after_s=wait_s)
