"""Bounded counters in Redis; `memory.counters` says the same in Python."""

from gateway.state.ports import Bounds, Counted
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script, number

ADD = Script("""
local amount, low, high = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local found = redis.call('GET', KEYS[1])
local value = tonumber(found or ARGV[4])
if amount == 0 then return {text(value), 1} end
local wanted = value + amount
if (amount > 0 and high and wanted > high) or (amount < 0 and low and wanted < low) then
    return {text(value), 0}
end
redis.call('SET', KEYS[1], text(wanted), 'KEEPTTL')
if not found and ARGV[5] ~= '' then redis.call('PEXPIRE', KEYS[1], ttl_ms(tonumber(ARGV[5]))) end
return {text(wanted), 1}
""")


class RedisCounters:
    """See `ports.Counters`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def add(self, key: str, amount: int, bounds: Bounds) -> Counted:
        optional = (bounds.low, bounds.high, bounds.start, bounds.ttl_s)
        given = ["" if each is None else each for each in optional]
        value, added = await self._link.run(ADD, (key,), (amount, *given))
        return Counted(value=int(number(value)), added=added == 1)
