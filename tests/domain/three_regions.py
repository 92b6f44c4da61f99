"""A tiny world of regional servers for domain tests: each region sends to its own, S2's loads."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.regions import limits_of
from controlplane.domain.guardrails.reserves import mustered
from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from controlplane.domain.services import Cluster, Endpoint, RegionalRule, Service, StrategyName
from controlplane.domain.strategies.demand import located
from controlplane.domain.strategies.regions import Rows
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Center, Proposal, Situation
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import EVERYWHERE, Datacenter, GatewayGroup, Role

PERIOD_S = 60.0
CYCLE_S = 300.0
REGIONS = ("north", "south", "west")
# Requests per second at B = 1.
FULL_RPS = (100.0, 80.0, 60.0)
GATEWAYS = tuple(GatewayGroup(name=f"edge-{region}", region=region) for region in REGIONS)
RULE = RegionalRule()


def center(region: str, full_rps: float, endpoints: int = 1, role: Role = Role.SAME_CITY) -> Center:
    """One regional server; its name is that of its region with `dc-` before it."""
    return Center(
        datacenter=Datacenter(name=f"dc-{region}", role=role, region=region),
        cluster=Cluster(
            datacenter=f"dc-{region}",
            # Twice what B = 1 is, so that the machines' own limit stays out of the way.
            capacity_rps=2.0 * full_rps,
            endpoints=(Endpoint(address="127.0.0.1", port=9000),) * endpoints,
        ),
    )


def make_centers(full_rps: Sequence[float] = FULL_RPS) -> tuple[Center, ...]:
    return tuple(center(region, full) for region, full in zip(REGIONS, full_rps, strict=False))


def make_service(centers: Sequence[Center], rule: RegionalRule = RULE) -> Service:
    return Service(
        name="stations",
        clusters=tuple(each.cluster for each in centers),
        strategy=StrategyName.REGIONAL,
        regional=rule,
    )


def sample(name: str, time_s: float, rate: float, load: float) -> Sample:
    """What a server with this load B reports: as full of connections as its pool is in use."""
    return Sample(
        datacenter=name,
        service="stations",
        time_s=time_s,
        received_s=time_s,
        response_time_ms=20.0,
        request_rate_rps=rate,
        connections=load * 16_000.0,
        connection_limit=16_000.0,
        pool_use=min(load, 1.0),
    )


@dataclass(slots=True)
class RegionalWorld:
    """Regions with their demand (requests/s), the rows in force, and the clock.

    `noise` multiplies each server's B once per sample.
    """

    demand: dict[str, float]
    centers: tuple[Center, ...] = field(default_factory=make_centers)
    gateways: tuple[GatewayGroup, ...] = GATEWAYS
    rule: RegionalRule = RULE
    limits: EnvelopeLimits = field(default_factory=EnvelopeLimits)
    full_rps: tuple[float, ...] = FULL_RPS
    now_s: float = 1_000_000.0
    shares: dict[str, dict[str, float]] = field(default_factory=dict)
    window: ServiceWindow = field(default_factory=lambda: ServiceWindow(service="stations"))
    state: GuardState = field(default_factory=GuardState)
    verdicts: list[Verdict] = field(default_factory=list)
    proposal: Proposal | None = None

    @property
    def service(self) -> Service:
        return make_service(self.centers, self.rule)

    def situation(self) -> Situation:
        service = self.service
        capacities = [each.cluster.capacity_rps if each.active else 0.0 for each in self.centers]
        bare = Situation(
            service=service,
            centers=self.centers,
            window=self.window,
            applied=tuple(capacity / sum(capacities) for capacity in capacities),
            now_s=self.now_s,
            moved_s=max(self.state.changes_s, default=float("-inf")),
        )
        found = located(bare, self.gateways, self.shares)
        return mustered(found, limits_of(self.service, self.limits))

    def rates(self) -> tuple[float, ...]:
        """Requests per second at each server by the rows in force."""
        if not self.shares:
            self.shares = self._published(self.rows())
        return tuple(
            sum(self.demand.get(name, 0.0) * row.get(one.name, 0.0) for name, row in self._sent())
            for one in self.centers
        )

    def _sent(self) -> list[tuple[str, dict[str, float]]]:
        return [(name, self.shares.get(name, self.shares[EVERYWHERE])) for name in self.demand]

    def _published(self, rows: Rows) -> dict[str, dict[str, float]]:
        regions = sorted({one.datacenter.region for one in self.centers})
        names = [one.name for one in self.centers]
        return {
            region: dict(zip(names, row, strict=True))
            for region, row in zip((*regions, EVERYWHERE), rows, strict=True)
        }

    def rows(self) -> Rows:
        return tuple(region.shares for region in self.situation().regions)

    def loads(self) -> tuple[float, ...]:
        """B of each server."""
        return self._loads(self.rates())

    def _loads(self, rates: Sequence[float]) -> tuple[float, ...]:
        return tuple(rate / full for rate, full in zip(rates, self.full_rps, strict=False))

    def measure(self, noise: Sequence[float] = (1.0, 1.0, 1.0)) -> None:
        """A period passes and everybody reports."""
        self.now_s += PERIOD_S
        rates = self.rates()
        loads = self._loads(rates)
        reported = [
            sample(each.name, self.now_s, rate, load * factor)
            for each, rate, load, factor in zip(self.centers, rates, loads, noise, strict=False)
        ]
        self.window = extended(self.window, reported, 3_600.0)

    def decide(self) -> Verdict:
        """One cycle's decision goes into force."""
        situation = self.situation()
        self.proposal = propose(situation)
        verdict = judge(self.proposal, situation, self.state, limits_of(self.service, self.limits))
        self.shares = self._published(verdict.regions)
        self.state = verdict.state
        self.verdicts.append(verdict)
        return verdict

    def cycle(self, noise: Sequence[Sequence[float]] = ((1.0, 1.0, 1.0),) * 5) -> Verdict:
        """Five periods, then a decision."""
        for each in noise:
            self.measure(each)
        return self.decide()

    def moves(self) -> int:
        return sum(verdict.outcome is not Outcome.HELD for verdict in self.verdicts)


def without_endpoints(world: RegionalWorld, region: str) -> None:
    """A server of a region is declared without endpoints."""
    world.centers = tuple(
        replace(each, cluster=replace(each.cluster, endpoints=()))
        if each.datacenter.region == region
        else each
        for each in world.centers
    )
