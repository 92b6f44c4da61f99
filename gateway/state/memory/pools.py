"""Pools of sessions in memory: the domain's own room, with the times that were told of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from controlplane.domain.admission.session_queue.control import Period
from controlplane.domain.admission.session_queue.room import Room, Terms, Visited, Visitor
from gateway.state.ports import PoolState, Sized, Times


@dataclass(slots=True)
class _Pool:
    began_s: float
    room: Room = field(default_factory=Room)
    times: Times = field(default_factory=Times)
    entries: int = 0
    number: int = 0
    note: bytes = b""


class MemoryPools:
    """See `ports.Pools`; there is one for each policy, so none is ever forgotten."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._kept: dict[str, _Pool] = {}

    async def visit(self, key: str, visitors: Sequence[Visitor], terms: Terms) -> Sequence[Visited]:
        room, now_s = self._pool(key).room, self._now_s()
        return [room.visit(visitor, terms, now_s) for visitor in visitors]

    async def leave(self, key: str, session: str, remembered_s: float) -> bool:
        return self._pool(key).room.leave(session, remembered_s, self._now_s())

    async def tell(self, key: str, times: Times, period_s: float) -> PoolState:
        pool, now_s = self._pool(key), self._now_s()
        pool.room.sweep(now_s)
        pool.times = _sum(pool.times, times)
        ended = _ended(pool, now_s) if now_s - pool.began_s >= period_s else None
        return PoolState(
            size=pool.room.size,
            inside=pool.room.inside,
            waiting=pool.room.waiting,
            note=pool.note,
            number=pool.number,
            ended=ended,
        )

    async def resize(self, key: str, sized: Sized) -> bool:
        pool = self._pool(key)
        if sized.number != pool.number:
            return False
        pool.room.size, pool.note = sized.size, sized.note
        return True

    def _pool(self, key: str) -> _Pool:
        if key not in self._kept:
            self._kept[key] = _Pool(began_s=self._now_s())
        return self._kept[key]


def _ended(pool: _Pool, now_s: float) -> Period:
    times, entries = pool.times, pool.room.entries
    ended = Period(
        length_s=now_s - pool.began_s,
        answers=times.answers,
        failures=times.failures,
        total_s=times.total_s,
        entered=entries - pool.entries,
        inside=pool.room.inside,
        waiting=pool.room.waiting,
    )
    pool.began_s, pool.times, pool.entries = now_s, Times(), entries
    pool.number += 1
    return ended


def _sum(one: Times, other: Times) -> Times:
    return Times(
        answers=one.answers + other.answers,
        failures=one.failures + other.failures,
        total_s=one.total_s + other.total_s,
    )
