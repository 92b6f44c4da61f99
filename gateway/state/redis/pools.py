"""Pools of sessions in Redis; `session_queue.room` says the same in Python.

Of each pool: a hash with its size and the period, and sorted sets with the deadlines of everybody
present, with who is inside by the time of entering, with the line by place, and with those who left
for as long as they are remembered.
"""

from collections.abc import Iterator, Sequence

from controlplane.domain.admission.session_queue.control import Period
from controlplane.domain.admission.session_queue.room import Standing, Terms, Visited, Visitor
from gateway.state.ports import PoolState, Sized, Times
from gateway.state.redis.link import RedisLink
from gateway.state.redis.script import Argument, Part, Script, number

FIELDS_OF_A_VISIT = 7
# One call drops so many at most: a script must not hold everybody up.
DROPPED_AT_ONCE = 1_000

_ROOM = f"""
local at_once = {DROPPED_AT_ONCE}
local pool, present, inside, line, left = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local function out(session)
    if redis.call('ZREM', inside, session) == 0 then redis.call('ZREM', line, session) end
end
local function sweep()
    local over = redis.call('ZRANGEBYSCORE', present, '-inf', text(now), 'LIMIT', 0, at_once)
    for _, session in ipairs(over) do
        redis.call('ZREM', present, session)
        out(session)
    end
    redis.call('ZREMRANGEBYSCORE', left, '-inf', text(now))
end
"""

VISIT = Script(
    _ROOM
    + """
local initial, stay, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local abandon, draw, opens = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local most, held = tonumber(ARGV[7]), ARGV[8] == '1'
sweep()
-- Whose time ends later than anybody's can was here before the clock was set back.
local latest = text(now + math.max(stay, abandon))
local beyond = redis.call(
    'ZRANGEBYSCORE', present, '(' .. latest, '+inf', 'LIMIT', 0, at_once)
for _, session in ipairs(beyond) do redis.call('ZADD', present, latest, session) end
local kept = redis.call('HMGET', pool, 'size', 'last', 'entries')
local size = tonumber(kept[1]) or initial
local last = tonumber(kept[2]) or 1
local entries = tonumber(kept[3]) or 0
local function new_place(chance)
    if opens > 0 then return math.max(chance, 0.000001) end
    if draw <= 0 then return math.max(now, last + 0.000001) end
    return (math.floor(math.max(now, last) / draw) + chance) * draw
end
local function drawn(place)
    if opens > 0 then return false end
    return draw <= 0 or math.floor(place / draw) < math.floor(now / draw)
end
local function seat(session, chance, place, age)
    local remembered = redis.call('ZSCORE', left, session)
    if age >= 0 and age < longest and not remembered then
        redis.call('ZADD', inside, text(now - age), session)
        return true
    end
    local waiting = redis.call('ZCARD', line)
    if waiting >= most and redis.call('ZCARD', inside) + waiting >= size then return false end
    if place == 0 or remembered then place = new_place(chance) end
    last = math.max(last, place)
    redis.call('ZADD', line, text(place), session)
    return true
end
local answer = {}
local function say(standing, position, place, age)
    local counts = {size, redis.call('ZCARD', inside), redis.call('ZCARD', line)}
    for _, part in ipairs({standing, position, text(place), text(age), unpack(counts)}) do
        answer[#answer + 1] = part
    end
end
local function stay_inside(session, since)
    redis.call('ZADD', present, text(math.min(now + stay, since + longest)), session)
    say(0, 0, 0, now - since)
end
local function visit(session, chance, place, age)
    if not redis.call('ZSCORE', present, session) and not seat(session, chance, place, age) then
        return say(2, 0, 0, 0)
    end
    local since = redis.call('ZSCORE', inside, session)
    if since and tonumber(since) > now then
        since = now
        redis.call('ZADD', inside, text(now), session)
    end
    if since then return stay_inside(session, tonumber(since)) end
    local rank = redis.call('ZRANK', line, session)
    if not held and opens <= 0 and rank < size - redis.call('ZCARD', inside) then
        redis.call('ZREM', line, session)
        redis.call('ZADD', inside, text(now), session)
        entries = entries + 1
        return stay_inside(session, now)
    end
    redis.call('ZADD', present, text(now + abandon), session)
    local mine = tonumber(redis.call('ZSCORE', line, session))
    say(1, drawn(mine) and rank + 1 or 0, mine, 0)
end
for i = 9, #ARGV, 4 do
    visit(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
end
redis.call('HSET', pool, 'size', size, 'last', text(last), 'entries', entries)
for _, key in ipairs({present, inside, line}) do
    redis.call('PEXPIRE', key, ttl_ms(math.max(stay, abandon) + 60))
end
redis.call('PEXPIRE', pool, ttl_ms(86400))
return answer
"""
)

LEAVE = Script(
    _ROOM
    + """
sweep()
redis.call('ZADD', left, text(now + tonumber(ARGV[2])), ARGV[1])
redis.call('PEXPIRE', left, ttl_ms(tonumber(ARGV[2]) + 86400))
local was = redis.call('ZREM', present, ARGV[1])
if was == 1 then out(ARGV[1]) end
return was
"""
)

TELL = Script(
    _ROOM
    + """
sweep()
local kept = redis.call(
    'HMGET', pool, 'size', 'began', 'answers', 'failures', 'total', 'entries', 'counted', 'number',
    'note')
local function of(place) return tonumber(kept[place]) or 0 end
local began = math.min(tonumber(kept[2]) or now, now)
local answers, failures, total = of(3) + ARGV[1], of(4) + ARGV[2], of(5) + ARGV[3]
local number, ended = of(8), 0
local answer = {of(1), redis.call('ZCARD', inside), redis.call('ZCARD', line), kept[9] or ''}
if now - began >= tonumber(ARGV[4]) then
    ended, number = 1, number + 1
    for _, seen in ipairs({now - began, answers, failures, total, of(6) - of(7)}) do
        answer[#answer + 1] = text(seen)
    end
    began, answers, failures, total = now, 0, 0, 0
    redis.call('HSET', pool, 'counted', of(6))
end
redis.call('HSET', pool, 'began', text(began), 'answers', answers, 'failures', failures,
    'total', text(total), 'number', number)
redis.call('PEXPIRE', pool, ttl_ms(86400))
table.insert(answer, 5, number)
return answer
"""
)

RESIZE = Script("""
if (tonumber(redis.call('HGET', KEYS[1], 'number')) or 0) ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'size', ARGV[1], 'note', ARGV[2])
return 1
""")

STANDINGS = (Standing.INSIDE, Standing.WAITING, Standing.TURNED_AWAY)


class RedisPools:
    """See `ports.Pools`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def visit(self, key: str, visitors: Sequence[Visitor], terms: Terms) -> Sequence[Visited]:
        rules: list[Argument] = [
            terms.initial_size,
            terms.stay_s,
            terms.session_s,
            terms.abandon_s,
            terms.draw_s,
            terms.opens_in_s,
            terms.most_waiting,
            int(terms.held),
        ]
        who: list[Argument] = []
        for one in visitors:
            who += (one.session, one.chance, one.place, one.age_s)
        answer = await self._link.run(VISIT, _keys(key), (*rules, *who))
        return list(_visits(answer))

    async def leave(self, key: str, session: str, remembered_s: float) -> bool:
        (was,) = await self._link.run(LEAVE, _keys(key), (session, remembered_s))
        return was == 1

    async def tell(self, key: str, times: Times, period_s: float) -> PoolState:
        size, inside, waiting, note, count, *seen = await self._link.run(
            TELL, _keys(key), (times.answers, times.failures, times.total_s, period_s)
        )
        return PoolState(
            size=int(number(size)),
            inside=int(number(inside)),
            waiting=int(number(waiting)),
            note=note if isinstance(note, bytes) else b"",
            number=int(number(count)),
            ended=_period(seen, int(number(inside)), int(number(waiting))),
        )

    async def resize(self, key: str, sized: Sized) -> bool:
        (done,) = await self._link.run(
            RESIZE, _keys(key)[:1], (sized.size, sized.note, sized.number)
        )
        return done == 1


def _keys(key: str) -> tuple[str, ...]:
    return (key, *(f"{key}:{part}" for part in ("present", "inside", "line", "left")))


def _visits(answer: Sequence[Part]) -> Iterator[Visited]:
    for start in range(0, len(answer), FIELDS_OF_A_VISIT):
        standing, position, place, age, size, inside, waiting = map(
            number, answer[start : start + FIELDS_OF_A_VISIT]
        )
        yield Visited(
            standing=STANDINGS[int(standing)],
            position=int(position),
            place=place,
            age_s=age,
            size=int(size),
            inside=int(inside),
            waiting=int(waiting),
        )


def _period(seen: Sequence[Part], inside: int, waiting: int) -> Period | None:
    if not seen:
        return None
    length_s, answers, failures, total_s, entered = map(number, seen)
    return Period(
        length_s=length_s,
        answers=int(answers),
        failures=int(failures),
        total_s=total_s,
        entered=int(entered),
        inside=inside,
        waiting=waiting,
    )
