"""The shared pools during one cycle: what each service puts on them, decided or in force.

`rulings` asks it before each decision what the others put there, tells it each result, and asks
at the end which decisions have to give way. Holds state for one cycle only.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controlplane.domain.decisions import Decision
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.guardrails.bounds import bounds
from controlplane.domain.guardrails.capacity import DECLARED
from controlplane.domain.guardrails.draft import NEGLIGIBLE, distance
from controlplane.domain.guardrails.pools import (
    FULL,
    FloatArray,
    Occupancy,
    PoolLimits,
    fitted,
    utilizations,
)
from controlplane.domain.guardrails.regions import limits_of
from controlplane.domain.guardrails.state import Concession
from controlplane.domain.services import ServiceClass
from controlplane.domain.strategies.situation import SharedPool, Shares
from controlplane.domain.strategies.tenancy import Tenant, on_pools, tenancy
from controlplane.engine.deciding.cycle import Facts, shares_in_force, situate

RANKS = tuple(ServiceClass)
# Decided without metrics to go by: the pools must not move it either.
BLIND = frozenset({"metrics_stale", "metrics_insane", "ramping_to_static", "utilization_unknown"})


class PoolBook:
    """Shares in force at first, then those that were decided.

    Args:
        facts: of the cycle; services without a shared pool are no part of the book.
    """

    def __init__(self, facts: Facts) -> None:
        fleet = facts.fleet
        self._facts = facts
        self._services = {s.name: s for s in fleet.services if on_pools(s)}
        self._before: dict[str, Shares] = {
            name: shares_in_force(facts, service) for name, service in self._services.items()
        }
        self._tenancy = tenancy(fleet, facts.windows, self._before, facts.cadence.period_s)
        self._after = dict(self._before)
        self._decided: dict[str, Decision] = {}
        self._work = dict.fromkeys(self._tenancy.pools, 0.0)
        for name, tenant in self._tenancy.tenants.items():
            self._count(tenant, self._before[name], 1.0)

    def shared(self, service: str) -> tuple[SharedPool | None, ...]:
        """What the others put on the pools of a service's centres; () when none is shared."""
        tenant = self._tenancy.tenants.get(service)
        if tenant is None:
            return ()
        own = tenant.work(self._after[service])
        return tuple(
            self._pool(name, work) if name else None
            for name, work in zip(tenant.pools, own, strict=True)
        )

    def settle(self, decision: Decision) -> None:
        """Take a decision's shares in place of those in force."""
        tenant = self._tenancy.tenants.get(decision.service)
        if tenant is None:
            return
        self._count(tenant, self._after[decision.service], -1.0)
        self._count(tenant, decision.decided, 1.0)
        self._after[decision.service] = decision.decided
        self._decided[decision.service] = decision

    def concessions(self) -> Mapping[str, Concession]:
        """The decisions that have to give way so that no pool is overfilled."""
        if not self._decided:
            return {}
        limits = self._facts.limits
        facts = self._occupancy()
        if utilizations(facts, facts.after).max(initial=0.0) <= limits.capacity_level:
            return {}
        hottest = max(
            utilizations(facts, shares).max(initial=0.0) for shares in (facts.before, facts.after)
        )
        if hottest > limits.hot_level:
            facts = self._with_relief(facts)
        shares = fitted(
            facts,
            PoolLimits(level=limits.capacity_level, hot=limits.hot_level, step=limits.hot_step),
        )
        return dict(self._changed(facts, shares))

    def overfull(self) -> tuple[Observation, ...]:
        """Pools that stay hot with the shares that go out."""
        if not self._services:
            return ()
        facts = self._occupancy()
        use = utilizations(facts, facts.after)
        hot = self._facts.limits.hot_level
        return tuple(
            Observation(
                code="pool_overfull",
                subject=f"pool/{name}",
                message=f"{busy:.3f} utilisation by all its services with the shares that go out, "
                f"hot is {hot:g}: what may move does so by steps; if this stays, add machines, "
                "declare a reserve, or limit a service",
                held="no service is moved onto it",
                severity=Severity.CRITICAL if busy > FULL else Severity.WARNING,
            )
            for name, busy in zip(self._tenancy.pools, use.tolist(), strict=True)
            if busy > hot
        )

    def _changed(self, facts: Occupancy, shares: FloatArray) -> list[tuple[str, Concession]]:
        use = utilizations(facts, facts.after)
        names = list(self._tenancy.pools)
        fullest = int(np.argmax(use))
        reason = (
            f"pool {names[fullest]} would be at {use[fullest]:.3f} with the moves of all its "
            f"services, {self._facts.limits.capacity_level:g} is allowed"
        )
        found = []
        for row, name in enumerate(self._services):
            given = tuple(shares[row, : len(self._before[name])].tolist())
            if name in self._decided and distance(given, self._after[name]) >= NEGLIGIBLE:
                found.append((name, Concession(shares=given, reason=reason)))
        return found

    def _pool(self, name: str, own: float) -> SharedPool:
        load = self._tenancy.pools[name]
        known = load.complete or load.by_cpu
        others = max(self._work[name] - (own if math.isfinite(own) else 0.0), 0.0)
        return SharedPool(
            name=name,
            use_per_work=load.use_per_work,
            others=others if known else math.nan,
            by_cpu=load.by_cpu,
        )

    def _count(self, tenant: Tenant, shares: Shares, sign: float) -> None:
        """Add or take off what a tenant puts on its pools; what is unknown is in the CPU."""
        for pool, work in zip(tenant.pools, tenant.work(shares), strict=True):
            if pool and math.isfinite(work):
                self._work[pool] += sign * work

    def _occupancy(self) -> Occupancy:
        tenants = [self._tenancy.tenants[name] for name in self._services]
        index = {name: at for at, name in enumerate(self._tenancy.pools)}
        pool = _table([[index.get(p, -1) for p in t.pools] for t in tenants], -1.0)
        weight = _table([self._weights(t) for t in tenants], 0.0)
        after = _table([self._after[name] for name in self._services], 0.0)
        return Occupancy(
            pool=pool.astype(np.int64),
            weight=weight,
            before=_table([self._before[name] for name in self._services], 0.0),
            after=after,
            lowest=after,
            highest=after,
            rank=np.array([RANKS.index(s.class_of_service) for s in self._services.values()]),
            standing=np.zeros(len(index)),
        )

    def _with_relief(self, facts: Occupancy) -> Occupancy:
        """With the bounds within which relief may move each service."""
        within = [self._bounds(name) for name in self._services]
        lowest = _table([low for low, _ in within], 0.0)
        highest = _table([high for _, high in within], 0.0)
        return replace(facts, lowest=lowest, highest=highest)

    def _weights(self, tenant: Tenant) -> list[float]:
        """Utilisation of each pool if the tenant had its whole load there; 0 is unknown."""
        whole = (cost * tenant.load for cost in tenant.costs)
        pools = self._tenancy.pools
        return [
            work * pools[pool].use_per_work if pool and math.isfinite(work) else 0.0
            for pool, work in zip(tenant.pools, whole, strict=True)
        ]

    def _bounds(self, name: str) -> tuple[Shares, Shares]:
        """How far relief may move a service; nowhere where nobody may."""
        still = self._after[name]
        decision = self._decided.get(name)
        if decision is None or decision.strategy in DECLARED or _doubtful(decision):
            return still, still
        facts, service = self._facts, self._services[name]
        return bounds(situate(facts, service), limits_of(service, facts.limits))


def _doubtful(decision: Decision) -> bool:
    suspected = decision.inputs is not None and decision.inputs.suspicions
    return bool(suspected) or not BLIND.isdisjoint(note.code for note in decision.notes)


def _table(rows: list[Shares] | list[list[float]] | list[list[int]], empty: float) -> FloatArray:
    """Rows of different length as one array, filled up at the end."""
    width = max((len(row) for row in rows), default=0)
    return np.array([[*row, *[empty] * (width - len(row))] for row in rows], dtype=np.float64)
