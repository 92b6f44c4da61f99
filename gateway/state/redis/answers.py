"""Cached answers in Redis: bounded in bytes, the oldest go first; `memory.answers` says the same.

Of each shelf: a hash of bodies with the time in front, a sorted set of keys by fence, a count of
bytes.
"""

from gateway.state.ports import Cached, Fresh, Room
from gateway.state.redis.leases import CHANNEL
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script, number

# One call drops so many at most: a script must not hold everybody up.
DROPPED_AT_ONCE = 100

GET = Script("""
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if not kept then return {'', '', ''} end
local at = string.find(kept, '\\n', 1, true)
local stored = tonumber(string.sub(kept, 1, at - 1))
-- Kept before the clock was set back: how old it is, nobody can say.
if stored > now then return {'', '', ''} end
local fence = redis.call('ZSCORE', KEYS[2], ARGV[1])
return {text(tonumber(fence)), text(now - stored), string.sub(kept, at + 1)}
""")

PUT = Script(f"""
local bodies, order, size, name = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local fence, ttl, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local before = tonumber(redis.call('ZSCORE', order, name) or -1)
if before > fence then return 0 end
local function drop(key)
    redis.call('DECRBY', size, redis.call('HSTRLEN', bodies, key))
    redis.call('HDEL', bodies, key)
    redis.call('ZREM', order, key)
end
if before >= 0 then drop(name) end
redis.call('HSET', bodies, name, text(now) .. '\\n' .. ARGV[5])
redis.call('INCRBY', size, redis.call('HSTRLEN', bodies, name))
redis.call('ZADD', order, text(fence), name)
local oldest = text(math.floor((now - ttl) * 1000000))
local over = redis.call('ZRANGEBYSCORE', order, '-inf', oldest, 'LIMIT', 0, {DROPPED_AT_ONCE})
for _, each in ipairs(over) do
    if each ~= name then drop(each) end
end
while tonumber(redis.call('GET', size)) > most do
    local first = redis.call('ZRANGE', order, 0, 0)[1]
    if not first then break end
    drop(first)
end
for _, each in ipairs({{bodies, order, size}}) do redis.call('PEXPIRE', each, ttl_ms(ttl)) end
redis.call('PUBLISH', '{CHANNEL}', name)
return 1
""")


class RedisAnswers:
    """See `ports.Answers`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def get(self, shelf: str, key: str) -> Cached | None:
        fence, age_s, body = await self._link.run(GET, _keys(shelf), (key,))
        if not fence or not isinstance(body, bytes):
            return None
        return Cached(fence=int(number(fence)), body=body, age_s=max(number(age_s), 0.0))

    async def put(self, shelf: str, key: str, fresh: Fresh, room: Room) -> bool:
        arguments = (key, fresh.fence, room.ttl_s, room.most_bytes, fresh.body)
        (put,) = await self._link.run(PUT, _keys(shelf), arguments)
        return put == 1


def _keys(shelf: str) -> tuple[str, str, str]:
    return shelf, f"{shelf}:order", f"{shelf}:bytes"
