"""Values in Redis."""

from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script

GET = Script("return redis.call('GET', KEYS[1])")

SET = Script("""
if ARGV[2] == '' then
    redis.call('SET', KEYS[1], ARGV[1])
else
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl_ms(tonumber(ARGV[2])))
end
return 1
""")

# What is expected, and what comes, is marked: an empty value is not an absent one.
COMPARE_AND_SET = Script("""
local found = redis.call('GET', KEYS[1])
if (found and '+' .. found or '-') ~= ARGV[1] then return 0 end
if ARGV[2] == '-' then
    redis.call('DEL', KEYS[1])
elseif ARGV[3] == '' then
    redis.call('SET', KEYS[1], string.sub(ARGV[2], 2))
else
    redis.call('SET', KEYS[1], string.sub(ARGV[2], 2), 'PX', ttl_ms(tonumber(ARGV[3])))
end
return 1
""")


class RedisValues:
    """See `ports.Values`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def get(self, key: str) -> bytes | None:
        (found,) = await self._link.run(GET, (key,), ())
        return found if isinstance(found, bytes) else None

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        await self._link.run(SET, (key,), (value, "" if ttl_s is None else ttl_s))

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        ttl = "" if ttl_s is None else ttl_s
        (done,) = await self._link.run(
            COMPARE_AND_SET, (key,), (_marked(expected), _marked(value), ttl)
        )
        return done == 1


def _marked(value: bytes | None) -> bytes:
    return b"-" if value is None else b"+" + value
