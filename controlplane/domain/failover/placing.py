"""Placing a failover's load: what stays, then what moves, then who gives way to whom.

Called by `plan`, service by service in the order of their classes. Pools are used in declared
order: those that serve now, then disaster recovery, then cloud. Only when all are full does a
service of a lower class give way.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.domain.failover.demand import Bearer, Demand
from controlplane.domain.failover.filling import NOTHING, spread

# Service and pool.
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What one service gets.

    Attributes:
        moved_share: of its traffic that moves, 0..1.
        inflow: data centre -> part of what moves that it takes; they sum to 1, {} when nobody can.
        rate_rps: that was expected; None is unknown.
        admitted_rps: of these, how many have room; None is all of them.
    """

    service: str
    moved_share: float
    inflow: Mapping[str, float]
    rate_rps: float | None
    admitted_rps: float | None = None


@dataclass(slots=True)
class Book:
    """What has been placed so far.

    Attributes:
        rooms: pool -> work per second that it still bears below the ceiling; below 0 it is over it.
        capacities: pool -> work per second, > 0.
        kept: requests/s of a service that stay in a pool; moved: that move there.
        missing: service -> requests/s without room.
    """

    demands: Sequence[Demand]
    rooms: dict[str, float]
    capacities: Mapping[str, float]
    kept: dict[_Key, float] = field(default_factory=dict)
    moved: dict[_Key, float] = field(default_factory=dict)
    missing: dict[str, float] = field(default_factory=dict)

    def keep(self, demand: Demand) -> None:
        """Give what stays its room first: nobody is moved who need not be.

        What is over the ceiling there already is no matter of this plan, unless more has to come.
        """
        for bearer in demand.bearers:
            if not bearer.leaving:
                rate = _rate(demand) * bearer.share
                self.kept[demand.service, bearer.pool] = rate
                self.rooms[bearer.pool] -= rate * bearer.cost

    def move(self, demand: Demand) -> None:
        """Place what moves, tier by tier, in proportion to the shares, else to the capacities."""
        left = math.fsum(_rate(demand) * b.share for b in demand.bearers if b.leaving)
        for tier in _tiers(demand):
            weights = _weights(tier, self.capacities)
            rooms = {b.pool: max(0.0, self.rooms[b.pool]) / b.cost for b in tier}
            for pool, rate in spread(left, weights, rooms).items():
                self._take(demand, pool, rate)
                left -= rate
        self.missing[demand.service] = max(0.0, left)

    def press(self, demand: Demand) -> None:
        """Make room for what is still missing at the cost of lower classes, the lowest first."""
        if self.missing[demand.service] <= NOTHING:
            return
        pools = {bearer.pool for bearer in demand.bearers if bearer.usable and not bearer.leaving}
        lower = [other for other in reversed(self.demands) if other.rank > demand.rank]
        for other in lower:
            for placed in (self.moved, self.kept):
                for pool in sorted(pools):
                    self._press(demand, other, pool, placed)

    def allocation(self, demand: Demand) -> Allocation:
        """What became of one service."""
        moved_share = math.fsum(b.share for b in demand.bearers if b.leaving)
        missing = self.missing[demand.service]
        admitted = None
        if demand.rate_rps is not None and missing > NOTHING:
            admitted = max(0.0, demand.rate_rps - missing)
        return Allocation(
            service=demand.service,
            moved_share=min(1.0, moved_share),
            inflow=self._inflow(demand),
            rate_rps=demand.rate_rps,
            admitted_rps=admitted,
        )

    def _press(self, demand: Demand, other: Demand, pool: str, placed: dict[_Key, float]) -> None:
        """Put one service in the place of another, below the ceiling."""
        missing = self.missing[demand.service]
        there = placed.get((other.service, pool), 0.0)
        if missing <= NOTHING or there <= 0:
            return
        cost, its_cost = _cost(demand, pool), _cost(other, pool)
        given = min(there, (missing * cost + max(0.0, -self.rooms[pool])) / its_cost)
        placed[other.service, pool] -= given
        self.missing[other.service] += given
        self.rooms[pool] += given * its_cost
        gained = min(missing, max(0.0, self.rooms[pool]) / cost)
        self._take(demand, pool, gained)
        self.missing[demand.service] -= gained

    def _inflow(self, demand: Demand) -> dict[str, float]:
        placed = {
            bearer.datacenter: self.moved.get((demand.service, bearer.pool), 0.0)
            for bearer in demand.bearers
            if bearer.usable and not bearer.leaving
        }
        total = math.fsum(placed.values())
        if total > NOTHING:
            return {name: part / total for name, part in placed.items() if part > 0}
        # Nothing is known of the load, or nobody has room: the first tier, as if it were empty.
        for tier in _tiers(demand):
            weights = _weights(tier, self.capacities)
            whole = math.fsum(weights.values())
            return {b.datacenter: weights[b.pool] / whole for b in tier if weights[b.pool] > 0}
        return {}

    def _take(self, demand: Demand, pool: str, rate: float) -> None:
        if rate > 0:
            key = demand.service, pool
            self.moved[key] = self.moved.get(key, 0.0) + rate
            self.rooms[pool] -= rate * _cost(demand, pool)


def _rate(demand: Demand) -> float:
    return 0.0 if demand.rate_rps is None else demand.rate_rps


def _cost(demand: Demand, pool: str) -> float:
    return next(bearer.cost for bearer in demand.bearers if bearer.pool == pool)


def _tiers(demand: Demand) -> list[list[Bearer]]:
    """Who can take what moves; within tier 0 those that serve come before those at 0."""
    able = [one for one in demand.bearers if one.usable and not one.leaving]
    order = sorted({(one.tier, one.share <= 0) for one in able})
    return [[one for one in able if (one.tier, one.share <= 0) == place] for place in order]


def _weights(tier: Sequence[Bearer], capacities: Mapping[str, float]) -> dict[str, float]:
    by_share = {bearer.pool: bearer.share for bearer in tier}
    if any(by_share.values()):
        return by_share
    return {bearer.pool: capacities[bearer.pool] / bearer.cost for bearer in tier}
