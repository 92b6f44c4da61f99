"""Tokens in Redis; `overload.line` says the same in Python.

Of each token: a hash with its holder and to whom it is offered, and sorted sets with the waiters by
arrival and by deadline. Bells are one channel for all keys.
"""

import asyncio
from contextlib import AbstractContextManager

from controlplane.domain.admission.overload.line import Full, Granted, Taken, Terms, Waiting
from gateway.state.bells import Bells
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script, number

CHANNEL = "signalbox:bells"
# Waiters that are late are dropped so many at once: a script must not hold everybody up.
DROPPED_AT_ONCE = 100

_LINE = f"""
local token, line, untils, name = KEYS[1], KEYS[2], KEYS[3], KEYS[1]
local function ring() redis.call('PUBLISH', '{CHANNEL}', name) end
local function drop(waiter)
    redis.call('ZREM', line, waiter)
    redis.call('ZREM', untils, waiter)
end
local function first() return redis.call('ZRANGE', line, 0, 0)[1] end
"""

TAKE = Script(
    _LINE
    + f"""
local waiter, token_s, wait_s = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local claim_s, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local kept = redis.call('HMGET', token, 'waiter', 'fence', 'until', 'offered', 'since')
local until_s = tonumber(kept[3]) or 0
if until_s > now + token_s then
    -- The clock was set back since.
    until_s = now + token_s
    redis.call('HSET', token, 'until', text(until_s))
end
local held = kept[1] and now < until_s
if held and kept[1] == waiter then return {{1, kept[2]}} end
local function keep()
    local ttl = ttl_ms(token_s + wait_s + claim_s + 5)
    for _, each in ipairs({{token, line, untils}}) do redis.call('PEXPIRE', each, ttl) end
end
if not redis.call('ZSCORE', line, waiter) then
    local late = redis.call(
        'ZRANGEBYSCORE', untils, '-inf', text(now), 'LIMIT', 0, {DROPPED_AT_ONCE})
    for _, each in ipairs(late) do drop(each) end
    local count = redis.call('ZCARD', line)
    if (held or count > 0) and count >= most then return {{-1, '0'}} end
    local last = tonumber(redis.call('ZREVRANGE', line, 0, 0, 'WITHSCORES')[2]) or 0
    redis.call('ZADD', line, text(math.max(now, last + 0.000001)), waiter)
    redis.call('ZADD', untils, text(now + wait_s), waiter)
end
if held then
    keep()
    return {{0, text(until_s - now), redis.call('ZRANK', line, waiter)}}
end
local offered, since = kept[4], tonumber(kept[5]) or 0
while true do
    local next_one = first()
    if next_one == waiter then break end
    local late = tonumber(redis.call('ZSCORE', untils, next_one) or 0) <= now
    if not late and (next_one ~= offered or since > now) then
        offered, since = next_one, now
        redis.call('HSET', token, 'offered', offered, 'since', text(since))
    end
    if not late and now < since + claim_s then
        keep()
        return {{0, text(since + claim_s - now), redis.call('ZRANK', line, waiter)}}
    end
    drop(next_one)
end
drop(waiter)
local fence = math.max((tonumber(redis.call('GET', KEYS[4])) or 0) + 1, math.floor(now * 1000000))
redis.call('SET', KEYS[4], text(fence))
redis.call('HSET', token, 'waiter', waiter, 'fence', text(fence), 'until', text(now + token_s))
redis.call('HDEL', token, 'offered', 'since')
keep()
return {{1, text(fence)}}
"""
)

RELEASE = Script(
    _LINE
    + """
local kept = redis.call('HMGET', token, 'waiter', 'fence')
if kept[1] ~= ARGV[1] or kept[2] ~= ARGV[2] then return 0 end
redis.call('HDEL', token, 'waiter', 'fence', 'until')
if ARGV[3] == '1' then redis.call('DEL', line, untils) end
ring()
return 1
"""
)

LEAVE = Script(
    _LINE
    + """
local was_first = first() == ARGV[1]
drop(ARGV[1])
if was_first then ring() end
return 1
"""
)

TIME = Script("return text(math.floor(now * 1000000))")


class RedisLeases:
    """See `ports.Leases`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._bells = Bells()
        self._listens = False

    async def take(self, key: str, waiter: str, terms: Terms) -> Taken:
        rules = (terms.token_s, terms.wait_s, terms.claim_s, terms.most_waiting)
        state, value, *ahead = await self._link.run(TAKE, _keys(key), (waiter, *rules))
        match state:
            case 1:
                return Granted(fence=int(number(value)))
            case 0:
                return Waiting(ahead=int(number(ahead[0])), again_s=number(value))
            case _:
                return Full()

    async def release(self, key: str, waiter: str, fence: int) -> bool:
        (released,) = await self._link.run(RELEASE, _keys(key), (waiter, fence, 0))
        return released == 1

    async def finish(self, key: str, waiter: str, fence: int) -> bool:
        (finished,) = await self._link.run(RELEASE, _keys(key), (waiter, fence, 1))
        return finished == 1

    async def leave(self, key: str, waiter: str) -> None:
        await self._link.run(LEAVE, _keys(key), (waiter,))

    async def now_us(self) -> int:
        (now,) = await self._link.run(TIME, (), ())
        return int(number(now))

    def listen(self, key: str) -> AbstractContextManager[asyncio.Event]:
        if not self._listens:
            self._listens = True
            self._link.subscribe(CHANNEL, self._heard)
        return self._bells.listen(key)

    def _heard(self, message: bytes) -> None:
        if message:
            self._bells.ring(message.decode())
        else:
            self._bells.ring_all()


def _keys(key: str) -> tuple[str, str, str, str]:
    # All of one policy, by the hash tag of its keys; one fence for all of its tokens.
    policy = key.partition("}")[0] + "}"
    return key, f"{key}:line", f"{key}:untils", f"{policy}:fence"
