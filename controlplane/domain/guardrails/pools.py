"""The guard over all services of a cycle: their moves together overfill no pool.

Each verdict was judged alone, with the others where they were. Here all of them are summed for
each pool. Where a pool would pass the level, moves onto it are taken back: lowest class first, of
one class the largest, until it fits. A pool that was too full before is relieved, lowest class
first, onto pools with room. Pure; the order of the rows changes nothing but ties, and rows come
sorted by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Flags = NDArray[np.bool_]

# A share of this is a tenth of a basis point: nothing that can be published.
SMALL = 1e-5
FULL = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occupancy:
    """Services (rows, by name) and their centres (columns); each array is (services, centers).

    Attributes:
        pool: index of the centre's pool, 0..pools-1; -1 where the service has no centre.
        weight: utilisation of that pool if the service had its whole load there.
        before, after: shares in force, and as decided; equal where nothing was decided.
        lowest, highest: bounds of a share that relief keeps; equal to `after` where it must not
            move, because nothing was decided or the split is an operator's word.
        rank: (services,) class of service, 0 is the most important.
        standing: (pools,) utilisation by nobody in here.
    """

    pool: IntArray
    weight: FloatArray
    before: FloatArray
    after: FloatArray
    lowest: FloatArray
    highest: FloatArray
    rank: IntArray
    standing: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """Limits of a cycle, 0..1.

    Attributes:
        level: utilisation that no move may bring a pool above.
        hot: utilisation from which a pool is relieved, down to the level.
        step: largest change of a share by relief.
    """

    level: float
    hot: float
    step: float


def fitted(facts: Occupancy, limits: PoolLimits) -> FloatArray:
    """The shares that go out: (services, centers).

    While every pool can be kept at the level, it is. When one stays above its whole capacity all
    the same, the others may be filled up to theirs: an overload is worse than a full pool.
    """
    shares = _Balance(facts, limits).settled()
    if utilizations(facts, shares).max(initial=0.0) <= FULL:
        return shares
    full = max(limits.level, FULL)
    return _Balance(facts, replace(limits, level=full, hot=full)).settled()


def utilizations(facts: Occupancy, shares: FloatArray) -> FloatArray:
    """Utilisation of each pool at these shares: (pools,)."""
    there = facts.pool >= 0
    load = np.bincount(
        facts.pool[there],
        weights=(facts.weight * shares)[there],
        minlength=len(facts.standing),
    )
    return np.asarray(facts.standing + load)


class _Balance:
    """The shares and what they make of each pool, while moves are taken back."""

    def __init__(self, facts: Occupancy, limits: PoolLimits) -> None:
        self._facts = facts
        self._level = limits.level
        self._hot = limits.hot
        self._step = limits.step
        self._shares = facts.after.copy()
        self._use = utilizations(facts, self._shares)
        self._tried: set[int] = set()

    def settled(self) -> FloatArray:
        # Taking a move back fills the pool that it left, so every pool is looked at again. A row
        # is taken back in part once, the second time altogether: this ends.
        while (pool := self._overfull()) is not None:
            self._take_back(pool)
        hot = np.flatnonzero(self._use > self._hot)
        for pool in hot[np.argsort(-self._use[hot], kind="stable")].tolist():
            self._relieve(pool)
        return self._shares

    def _overfull(self) -> int | None:
        """The fullest pool above the level that somebody moves onto."""
        over = np.flatnonzero(self._use > self._level + SMALL)
        for pool in over[np.argsort(-self._use[over], kind="stable")].tolist():
            if next(self._movers(pool), None) is not None:
                return int(pool)
        return None

    def _movers(self, pool: int) -> Iterator[tuple[int, float]]:
        """Rows that move onto a pool and how much they add, in the order of giving way."""
        facts = self._facts
        moved = (self._shares - facts.before) * facts.weight
        added = np.where(facts.pool == pool, moved, 0.0).sum(axis=1)
        return self._giving_way(added)

    def _giving_way(self, amount: FloatArray) -> Iterator[tuple[int, float]]:
        rows = np.flatnonzero(amount > 0)
        order = np.lexsort((rows, -np.round(amount[rows], 9), -self._facts.rank[rows]))
        return ((int(row), float(amount[row])) for row in rows[order])

    def _take_back(self, pool: int) -> None:
        for row, added in list(self._movers(pool)):
            excess = self._use[pool] - self._level
            if excess <= SMALL:
                return
            whole = row in self._tried or added <= excess
            part = 1.0 if whole else excess / added
            self._tried.add(row)
            back = self._facts.before[row] - self._shares[row]
            self._put(row, self._shares[row] + part * back if part < 1.0 else None)

    def _put(self, row: int, shares: FloatArray | None) -> None:
        """Give a row other shares; None is those in force."""
        facts = self._facts
        new = facts.before[row] if shares is None else shares
        there = facts.pool[row] >= 0
        change = (facts.weight[row] * (new - self._shares[row]))[there]
        np.add.at(self._use, facts.pool[row][there], change)
        self._shares[row] = new

    def _relieve(self, pool: int) -> None:
        """Shed what is above the level onto the rows' other pools, as far as they have room."""
        facts = self._facts
        on = facts.pool == pool
        spare = self._shares - np.maximum(facts.lowest, facts.before - self._step)
        shed = np.where(on, np.maximum(spare, 0.0) * facts.weight, 0.0).sum(axis=1)
        for row, most in self._giving_way(shed):
            excess = self._use[pool] - self._level
            if excess <= SMALL:
                return
            self._shed(row, on[row], min(excess, most))

    def _shed(self, row: int, on: Flags, amount: float) -> None:
        """Move a utilisation of `amount` off the flagged centre of a row."""
        facts = self._facts
        column = int(np.flatnonzero(on)[0])
        room = self._room(row, on)
        share = min(amount / facts.weight[row, column], float(room.sum()))
        if share <= SMALL:
            return
        new = self._shares[row] + share * room / room.sum()
        new[column] -= share
        self._put(row, new)

    def _room(self, row: int, on: Flags) -> FloatArray:
        """Share that each other centre of a row can take: by pool, step and bound."""
        facts = self._facts
        weight = np.maximum(facts.weight[row], SMALL)
        by_pool = (self._level - self._use[facts.pool[row]]) / weight
        most = np.minimum(facts.highest[row], facts.before[row] + self._step)
        room = np.minimum(by_pool, most - self._shares[row])
        return np.where(on | (facts.pool[row] < 0), 0.0, np.maximum(room, 0.0))
