"""Tenancy: what the services on shared pools put on them, by the newest metrics.

Built once a cycle from the windows of all services. Work is counted in requests of cost 1 per
second. The machines' CPU belongs to all tenants by their work, so one figure for each pool says
what a unit of work costs there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.domain.services import Service
from controlplane.domain.strategies.center_use import SATURATED, SMALLEST_PART, newest_periods
from controlplane.domain.strategies.queue_law import CenterLaw, busy_part
from controlplane.domain.strategies.situation import Shares
from controlplane.domain.telemetry import Sample, ServiceWindow, mean, reading
from controlplane.domain.topology import Fleet, Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One service on shared pools, its clusters in order.

    Attributes:
        pools: name of each cluster's pool, "" for one of its own.
        costs: work of one request.
        load: requests per second over all its clusters; NaN is unknown.
        seen: work that each cluster bore lately; NaN is unknown.
        busy: utilisation of each cluster's pool as its samples have it; NaN is unknown.
    """

    service: str
    pools: tuple[str, ...]
    costs: tuple[float, ...]
    load: float
    seen: tuple[float, ...]
    busy: tuple[float, ...]

    def work(self, shares: Shares) -> tuple[float, ...]:
        """What it puts on each cluster's pool at these shares; NaN is unknown."""
        rows = zip(self.costs, shares, strict=True)
        return tuple(cost * self.load * share if share > 0 else 0.0 for cost, share in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLoad:
    """What a unit of work costs on one pool.

    Attributes:
        complete: whether every tenant's work is known; one that is not is in the CPU, if that told.
    """

    use_per_work: float
    by_cpu: bool
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """All tenants and all shared pools, by name."""

    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    pools: Mapping[str, PoolLoad] = field(default_factory=dict)


def tenancy(
    fleet: Fleet,
    windows: Mapping[str, ServiceWindow],
    shares: Mapping[str, Shares],
    period_s: float,
) -> Tenancy:
    """Read the windows.

    Args:
        shares: those in force of each service on a shared pool, in the order of its clusters.
    """
    pools = {pool.name: pool for pool in fleet.pools}
    tenants = {
        service.name: _tenant(
            service,
            pools,
            _histories(service, windows.get(service.name), period_s),
            shares[service.name],
        )
        for service in fleet.services
        if on_pools(service)
    }
    stays: dict[str, list[tuple[float, float]]] = {name: [] for name in pools}
    for tenant in tenants.values():
        for pool, seen, busy in zip(tenant.pools, tenant.seen, tenant.busy, strict=True):
            if pool:
                stays[pool].append((seen, busy))
    return Tenancy(
        tenants=tenants, pools={name: _pool_load(pools[name], own) for name, own in stays.items()}
    )


def on_pools(service: Service) -> bool:
    """Whether any of its clusters names a shared pool."""
    return any(cluster.pool for cluster in service.centers)


def _histories(
    service: Service, window: ServiceWindow | None, period_s: float
) -> list[tuple[Sample, ...]]:
    if window is None:
        return [()] * len(service.centers)
    return [newest_periods(window, c.datacenter, period_s) for c in service.centers]


def _tenant(
    service: Service,
    pools: Mapping[str, Pool],
    histories: list[tuple[Sample, ...]],
    shares: Shares,
) -> Tenant:
    loads = [_load(own, share) for own, share in zip(histories, shares, strict=True)]
    clusters = service.centers
    return Tenant(
        service=service.name,
        pools=tuple(cluster.pool for cluster in clusters),
        costs=tuple(cluster.cost for cluster in clusters),
        load=math.fsum(loads),
        seen=tuple(c.cost * load for c, load in zip(clusters, loads, strict=True)),
        busy=tuple(
            _busy(pools[c.pool], own) if c.pool else math.nan
            for c, own in zip(clusters, histories, strict=True)
        ),
    )


def _load(history: tuple[Sample, ...], share: float) -> float:
    """Mean request rate; 0 where no share is in force and nothing is reported."""
    if not history:
        return math.nan if share > 0 else 0.0
    return math.fsum(reading(sample, "request_rate_rps") for sample in history) / len(history)


def _busy(pool: Pool, history: tuple[Sample, ...]) -> float:
    law = CenterLaw(
        base_ms=1.0,
        contention=0.0,
        wait_ms=0.0,
        servers=1.0,
        idle_cpu=0.0 if pool.idle_cpu is None else pool.idle_cpu,
        full_cpu=1.0 if pool.full_cpu is None else pool.full_cpu,
    )
    return mean([busy_part(law, s.cpu_avg) for s in history if s.cpu_avg is not None])


def _pool_load(pool: Pool, stays: Sequence[tuple[float, float]]) -> PoolLoad:
    """By CPU, weighed by who put the work there; by declared capacity where CPU says nothing."""
    known = sorted((seen, busy) for seen, busy in stays if math.isfinite(seen))
    complete = len(known) == len(stays)
    told = [(seen, busy) for seen, busy in known if seen > 0 and math.isfinite(busy)]
    work = math.fsum(seen for seen, _ in known)
    weight = math.fsum(seen for seen, _ in told)
    by_capacity = 1.0 / pool.capacity_rps
    busy = math.fsum(seen * busy for seen, busy in told) / weight if weight > 0 else 0.0
    # Of a trickle CPU is that of other things.
    if not busy > 0 or work * by_capacity < SMALLEST_PART:
        return PoolLoad(use_per_work=by_capacity, by_cpu=False, complete=complete)
    by_cpu = busy / work
    if busy >= SATURATED:
        by_cpu = max(by_cpu, by_capacity)
    return PoolLoad(use_per_work=by_cpu, by_cpu=True, complete=complete)
