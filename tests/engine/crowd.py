"""Many services on a few shared pools: a world without noise for the tests of the pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.domain.decisions import Trigger
from controlplane.domain.fleet_order import normalized
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import Cluster, Endpoint, Service, ServiceClass, StrategyName
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Datacenter, Fleet, Pool, Role
from controlplane.engine.cadence import Cadence
from controlplane.engine.deciding.cycle import Facts, applied_shares
from controlplane.engine.deciding.rulings import Rulings, rule

CENTERS = ("east", "west", "north")
ROLES = (Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY)
CAPACITIES = (1_000.0, 600.0, 500.0)
START_S = 1_000_000.0


def tenant(name: str, strategy: StrategyName, rank: ServiceClass, cost: float = 1.0) -> Service:
    return Service(
        name=name,
        strategy=strategy,
        class_of_service=rank,
        clusters=tuple(
            Cluster(
                datacenter=center,
                endpoints=(Endpoint(address="127.0.0.1", port=9_000),),
                pool=f"{center}-web",
                cost=cost,
            )
            for center in CENTERS
        ),
    )


def fleet_of(services: list[Service]) -> Fleet:
    return normalized(
        Fleet(
            datacenters=tuple(
                Datacenter(name=name, role=role, region="r")
                for name, role in zip(CENTERS, ROLES, strict=True)
            ),
            pools=tuple(
                Pool(name=f"{name}-web", datacenter=name, capacity_rps=capacity, servers=8)
                for name, capacity in zip(CENTERS, CAPACITIES, strict=True)
            ),
            services=tuple(services),
        )
    )


@dataclass(slots=True)
class Crowd:
    """The services, the load of each (requests/s), and what is in force."""

    fleet: Fleet
    loads: dict[str, float]
    cpu: bool = True
    now_s: float = START_S
    windows: dict[str, ServiceWindow] = field(default_factory=dict)
    shares: dict[str, Mapping[str, float]] = field(default_factory=dict)
    states: dict[str, GuardState] = field(default_factory=dict)

    def utilizations(self) -> dict[str, float]:
        """What the shares in force make of each pool, by the truth."""
        used = dict.fromkeys(CENTERS, 0.0)
        for service in self.fleet.services:
            shares = self._in_force(service)
            for cluster, share in zip(service.clusters, shares, strict=True):
                used[cluster.datacenter] += cluster.cost * share * self.loads[service.name]
        return {c: used[c] / cap for c, cap in zip(CENTERS, CAPACITIES, strict=True)}

    def measure(self, periods: int = 5) -> None:
        """Periods with the shares in force; centres without a share report nothing."""
        for _ in range(periods):
            self.now_s += 60.0
            busy = self.utilizations()
            for service in self.fleet.services:
                self._report(service, busy)

    def decide(
        self, trigger: Trigger = Trigger.TIMER, only: frozenset[str] | None = None
    ) -> Rulings:
        """One cycle; what is decided is in force."""
        names = [s.name for s in self.fleet.services if only is None or s.name in only]
        ruled = rule(self.facts(), dict.fromkeys(names, trigger))
        for decision in ruled.made:
            self.shares[decision.service] = dict(
                zip(decision.centers, decision.decided, strict=True)
            )
            self.states[decision.service] = decision.state
        return ruled

    def facts(self) -> Facts:
        return Facts(
            fleet=self.fleet,
            windows=self.windows,
            models={},
            shares=self.shares,
            states=self.states,
            cadence=Cadence(),
            limits=EnvelopeLimits(),
            now_s=self.now_s,
        )

    def _in_force(self, service: Service) -> tuple[float, ...]:
        return applied_shares(self.fleet, service, self.shares.get(service.name, {}))

    def _report(self, service: Service, busy: Mapping[str, float]) -> None:
        samples = [
            Sample(
                datacenter=cluster.datacenter,
                service=service.name,
                time_s=self.now_s,
                received_s=self.now_s,
                response_time_ms=20.0 / max(1.0 - busy[cluster.datacenter], 0.05),
                request_rate_rps=self.loads[service.name] * share,
                cpu_avg=min(busy[cluster.datacenter], 1.0) if self.cpu else None,
            )
            for cluster, share in zip(service.clusters, self._in_force(service), strict=True)
            if share > 0
        ]
        window = self.windows.get(service.name, ServiceWindow(service=service.name))
        self.windows[service.name] = extended(window, samples, 3_600.0)
