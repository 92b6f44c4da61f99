"""The plan of a failover: where the load goes, whether there is room, who must give way.

Called before traffic moves, for a forecast and for the real thing alike. Survivors' capacity is
compared with the expected load: enough is `go`; not enough is `admit_first`, with how much of each
service may be let in so that no survivor passes its ceiling; nobody left is `nowhere`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.failover.demand import Demand
from controlplane.domain.failover.placing import Allocation, Book

# Utilisation to which a survivor is filled: the envelope's own limit of a move. Above it waiting
# grows faster than load.
CEILING = 0.85


class Verdict(StrEnum):
    """Whether load may move: at once, after admission has been tightened, or there is nobody."""

    GO = "go"
    ADMIT_FIRST = "admit_first"
    NOWHERE = "nowhere"


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
    book = Book(
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


def _joining(demands: Sequence[Demand], allocations: Iterable[Allocation]) -> tuple[str, ...]:
    """Who stood at 0 for a service and gets some of it, by tier and declared order."""
    inflows = {one.service: one.inflow for one in allocations}
    found: dict[str, int] = {}
    for demand in demands:
        for bearer in demand.bearers:
            if bearer.share <= 0 and inflows[demand.service].get(bearer.datacenter, 0.0) > 0:
                found.setdefault(bearer.datacenter, bearer.tier)
    return tuple(sorted(found, key=lambda name: found[name]))


def _forecasts(book: Book, by_service: Mapping[str, Allocation]) -> Iterable[PoolForecast]:
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
