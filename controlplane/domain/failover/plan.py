"""The plan of a failover: where the load goes, whether there is room, who must give way.

Called before traffic moves, for a forecast and for the real thing alike. Survivors' capacity is
compared with the expected load: enough is `go`; not enough is `admit_first`, with how much of each
service may be let in so that no survivor passes its ceiling; nobody left is `nowhere`. Pools are
used in declared order: those that serve now, then disaster recovery, then cloud. Only when all are
full does a service of a lower class give way.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.failover.filling import NOTHING, spread

# Utilisation to which a survivor is filled: the envelope's own limit of a move. Above it waiting
# grows faster than load.
CEILING = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """One data centre as a place for one service's load.

    Attributes:
        pool: key of the machines; services with the same key share them.
        tier: 0 are the centres that bear traffic in normal times; the higher, the later.
        share: of the service's traffic without the failover, 0..1.
        leaving: its traffic is taken away.
        usable: it can serve, and nothing else keeps traffic away from it.
        cost: work of one request in units of the pool's capacity.
    """

    datacenter: str
    pool: str
    tier: int = 0
    share: float = 0.0
    leaving: bool = False
    usable: bool = True
    cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one service needs.

    Attributes:
        rank: of its class, 0 is the most important.
        rate_rps: expected requests per second, None when nobody knows.
    """

    service: str
    rank: int
    rate_rps: float | None
    bearers: tuple[Bearer, ...]


class Verdict(StrEnum):
    """Whether load may move: at once, after admission has been tightened, or there is nobody."""

    GO = "go"
    ADMIT_FIRST = "admit_first"
    NOWHERE = "nowhere"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolForecast:
    """Utilisation of one pool before and after, if everybody were let in; NaN is unknown."""

    datacenter: str
    pool: str
    capacity: float
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of all services that are touched, by name.

    Attributes:
        joining: data centres that stood at 0 and get traffic, in declared order.
        nowhere: services that nobody else can serve.
    """

    verdict: Verdict
    allocations: tuple[Allocation, ...]
    pools: tuple[PoolForecast, ...]
    joining: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = ()

    def inflow(self, service: str) -> Mapping[str, float]:
        """Where the moved traffic of a service goes."""
        return next((a.inflow for a in self.allocations if a.service == service), {})


def plan(
    demands: Iterable[Demand], capacities: Mapping[str, float], ceiling: float = CEILING
) -> Plan:
    """Where the load goes.

    Args:
        demands: every service that is touched, and every other one on the pools of its survivors.
        capacities: pool -> work per second that it bears, > 0.
        ceiling: utilisation to which survivors are filled, 0..1.
    """
    book = _Book(
        demands=sorted(demands, key=lambda one: (one.rank, one.service)),
        rooms={pool: ceiling * capacity for pool, capacity in capacities.items()},
        capacities=capacities,
    )
    for demand in book.demands:
        book.keep(demand)
    for demand in book.demands:
        book.move(demand)
    for demand in book.demands:
        book.press(demand)
    allocations = tuple(
        sorted((book.allocation(each) for each in book.demands), key=lambda a: a.service)
    )
    nowhere = tuple(a.service for a in allocations if a.moved_share > 0 and not a.inflow)
    short = any(a.admitted_rps is not None for a in allocations)
    verdict = Verdict.NOWHERE if nowhere else Verdict.ADMIT_FIRST if short else Verdict.GO
    return Plan(
        verdict=verdict,
        allocations=allocations,
        pools=tuple(_forecasts(book, {a.service: a for a in allocations})),
        joining=_joining(book.demands, allocations),
        nowhere=nowhere,
    )


# Service and pool.
_Key = tuple[str, str]


@dataclass(slots=True)
class _Book:
    """What has been placed so far, in work per second.

    Attributes:
        kept: of what stays where it is; moved: of what moves.
        missing: service -> work without room.
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
                work = _work(demand, bearer) * bearer.share
                self.kept[demand.service, bearer.pool] = work
                self.rooms[bearer.pool] -= work

    def move(self, demand: Demand) -> None:
        """Place what moves, tier by tier, in proportion to the shares, else to the capacities."""
        left = math.fsum(_work(demand, b) * b.share for b in demand.bearers if b.leaving)
        for tier in _tiers(demand):
            weights = _weights(tier, self.capacities)
            rooms = {bearer.pool: max(0.0, self.rooms[bearer.pool]) for bearer in tier}
            for pool, part in spread(left, weights, rooms).items():
                self._take(demand, pool, part)
                left -= part
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
            cost = demand.bearers[0].cost
            admitted = max(0.0, demand.rate_rps - missing / cost)
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
        part = min(there, missing + max(0.0, -self.rooms[pool]))
        placed[other.service, pool] -= part
        self.missing[other.service] += part
        self.rooms[pool] += part
        gained = min(missing, max(0.0, self.rooms[pool]))
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

    def _take(self, demand: Demand, pool: str, part: float) -> None:
        if part > 0:
            key = demand.service, pool
            self.moved[key] = self.moved.get(key, 0.0) + part
            self.rooms[pool] -= part


def _work(demand: Demand, bearer: Bearer) -> float:
    return 0.0 if demand.rate_rps is None else demand.rate_rps * bearer.cost


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


def _joining(demands: Sequence[Demand], allocations: Iterable[Allocation]) -> tuple[str, ...]:
    """Who stood at 0 for a service and gets some of it, by tier and declared order."""
    inflows = {one.service: one.inflow for one in allocations}
    found: dict[str, int] = {}
    for demand in demands:
        for bearer in demand.bearers:
            if bearer.share <= 0 and inflows[demand.service].get(bearer.datacenter, 0.0) > 0:
                found.setdefault(bearer.datacenter, bearer.tier)
    return tuple(sorted(found, key=lambda name: found[name]))


def _forecasts(book: _Book, by_service: Mapping[str, Allocation]) -> Iterable[PoolForecast]:
    places: dict[str, str] = {}
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for demand in book.demands:
        one = by_service[demand.service]
        # Without a rate the whole pool is unknown; nothing is not zero.
        rate = math.nan if demand.rate_rps is None else demand.rate_rps
        for bearer in demand.bearers:
            pool = bearer.pool
            places[pool] = bearer.datacenter
            part = 0.0 if bearer.leaving else bearer.share
            part += one.moved_share * one.inflow.get(bearer.datacenter, 0.0)
            if bearer.share > 0:
                before[pool] = before.get(pool, 0.0) + rate * bearer.cost * bearer.share
            if part > 0:
                after[pool] = after.get(pool, 0.0) + rate * bearer.cost * part
    for pool in sorted(places):
        capacity = book.capacities[pool]
        yield PoolForecast(
            datacenter=places[pool],
            pool=pool,
            capacity=capacity,
            before=before.get(pool, 0.0) / capacity,
            after=after.get(pool, 0.0) / capacity,
        )
