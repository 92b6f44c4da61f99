"""Token buckets in Redis; `memory.buckets` says the same in Python."""

from gateway.state.ports import BucketRule, Taken
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script, number

TAKE = Script("""
local amount, rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(kept[1]) or tonumber(ARGV[4]), tonumber(kept[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local taken = amount <= tokens
local wait = 0
if taken then
    tokens = tokens - amount
elseif amount > burst then
    wait = -1
else
    wait = (amount - tokens) / rate
end
-- Not the later of the two: a clock that was set back would leave the bucket as it is until then.
redis.call('HSET', KEYS[1], 'tokens', text(tokens), 'at', text(now))
redis.call('PEXPIRE', KEYS[1], ttl_ms((burst - tokens) / rate + 1))
return {taken and 1 or 0, text(tokens), text(wait)}
""")


class RedisBuckets:
    """See `ports.Buckets`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def take(self, key: str, amount: float, rule: BucketRule) -> Taken:
        start = rule.burst if rule.start is None else min(rule.start, rule.burst)
        taken, left, wait_s = await self._link.run(
            TAKE, (key,), (amount, rule.rate_per_s, rule.burst, start)
        )
        after_s = number(wait_s)
        return Taken(
            taken=taken == 1,
            left=number(left),
            retry_after_s=float("inf") if after_s < 0 else after_s,
        )
