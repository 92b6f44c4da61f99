"""Sliding windows in Redis; `memory.windows` says the same in Python."""

from gateway.state.ports import Windowed, WindowRule
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Script, number

ADD = Script("""
local amount, window, slots = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local limit = tonumber(ARGV[3]) or math.huge
local slot = window / slots
local place = now / slot
local newest = math.floor(place)
local leaving = newest - slots
local kept = redis.call('HGETALL', KEYS[1])
local held, count = {}, 0
for i = 1, #kept, 2 do
    local number = tonumber(kept[i])
    -- What is later than now was counted before the clock was set back.
    if number < leaving or number > newest then
        redis.call('HDEL', KEYS[1], kept[i])
    else
        local share = tonumber(kept[i + 1])
        if number == leaving then share = share * (1 - (place - newest)) end
        held[#held + 1] = {number, share}
        count = count + share
    end
end
local excess = count + amount - limit
if excess <= 0 then
    if amount ~= 0 then
        redis.call('HINCRBYFLOAT', KEYS[1], string.format('%d', newest), text(amount))
        redis.call('PEXPIRE', KEYS[1], ttl_ms(window + slot))
    end
    return {1, text(count + amount), '0'}
end
table.sort(held, function(one, other) return one[1] < other[1] end)
for _, each in ipairs(held) do
    excess = excess - each[2]
    if excess <= 0 then
        return {0, text(count), text((each[1] + slots + 1) * slot - now)}
    end
end
return {0, text(count), '-1'}
""")


class RedisWindows:
    """See `ports.Windows`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def add(self, key: str, amount: float, rule: WindowRule) -> Windowed:
        limit = "" if rule.limit == float("inf") else rule.limit
        added, count, wait_s = await self._link.run(
            ADD, (key,), (amount, rule.window_s, limit, rule.slots)
        )
        after_s = number(wait_s)
        return Windowed(
            count=number(count),
            added=added == 1,
            retry_after_s=float("inf") if after_s < 0 else after_s,
        )
