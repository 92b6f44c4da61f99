"""Two simulated centres and the engine's own cycle, closed into a loop without HTTP or store.

The physics comes from simulation.site, the decisions from engine.deciding.cycle.decide; a cycle
takes about two milliseconds, so two weeks pass in ten seconds. Shares are rounded as they are
published.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import Cluster, Endpoint, Service, StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Datacenter, Fleet, Role
from controlplane.engine.cadence import Cadence
from controlplane.engine.deciding.cycle import Facts, decide
from training.dataset import CenterSeries
from training.learning.law_fit import Declared, LawRows, fit_law
from training.learning.projection import greybox_ms
from training.learning.scores import relative_spread
from training.simulation import simulator, site, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.center import CenterWorld
from training.simulation.site import Lanes, Played, Readings, SiteState
from training.simulation.troubles import READINGS
from training.simulation.weather import Weather
from training.simulation.world import World

CYCLE_MINUTES = 5
NAMES = ("alpha", "beta")


def fitted_model(world: World, days: int = 10, seed: int = 100) -> LearnedModel:
    """Queue laws fitted to the logs of the simulated operator, with their error on those logs."""
    minutes = days * DAY_MINUTES
    drawn = weather.draw(world, minutes, seed)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, seed))
    laws = tuple(
        fit_law(_law_rows(series), _declared(center)).law
        for series, center in ((rows.primary, world.primary), (rows.secondary, world.secondary))
    )
    predicted = greybox_ms(rows, (laws[0], laws[1]))
    known = np.isfinite(predicted)
    return LearnedModel(
        digest="fitted",
        laws=laws,
        residual_spread=relative_spread(predicted[known], rows.response_time_ms[known]),
    )


@dataclass(slots=True)
class Site:
    """One service in a world; `model` may change between cycles, as by a promotion."""

    world: World
    weather: Weather
    strategy: StrategyName = StrategyName.HYBRID
    limits: EnvelopeLimits = field(default_factory=EnvelopeLimits)
    ratio: float = 0.5
    minute: int = 0
    model: LearnedModel | None = None
    state: GuardState = field(default_factory=GuardState)
    window: ServiceWindow = field(default_factory=lambda: ServiceWindow(service="tickets"))
    lanes: Lanes = field(init=False)
    physics: SiteState = field(init=False)
    played: Played | None = None

    def __post_init__(self) -> None:
        self.lanes = site.gather(self.world, [self.weather])
        self.physics = site.start(self.lanes)

    @property
    def fleet(self) -> Fleet:
        """Two centres as the world has them."""
        clusters = tuple(
            _cluster(name, center)
            for name, center in zip(NAMES, (self.world.primary, self.world.secondary), strict=True)
        )
        service = Service(name="tickets", clusters=clusters, strategy=self.strategy)
        roles = (Role.PRIMARY, Role.SAME_CITY)
        return Fleet(
            datacenters=tuple(
                Datacenter(name=name, role=role, region="north")
                for name, role in zip(NAMES, roles, strict=True)
            ),
            services=(service,),
        )

    def run(self, cycles: int) -> Iterator[Decision]:
        """Decide once a cycle; the decision is in force when the next one is asked for."""
        for _ in range(cycles):
            self._live_a_cycle()
            facts = self._facts()
            decision = decide(facts, facts.fleet.services[0], Trigger.TIMER)
            self.state = decision.state
            self.ratio = round(decision.decided[0], 4)
            yield decision

    def true_ms(self) -> float:
        """Expected response time of the last cycle, request-weighted."""
        assert self.played is not None
        load = self.played.requests_rps
        return float((self.played.mean_ms * load).sum() / load.sum())

    def _live_a_cycle(self) -> None:
        minutes = slice(self.minute, self.minute + CYCLE_MINUTES)
        shares = np.array([[self.ratio, 1.0 - self.ratio]])
        self.played, self.physics = site.play(self.lanes, self.physics, minutes, shares)
        samples = [
            _sample(name, float(time_s), self.played.seen, (0, center, at))
            for center, name in enumerate(NAMES)
            for at, time_s in enumerate(self.weather.time_s[minutes])
        ]
        self.window = extended(self.window, samples, keep_s=3600.0)
        self.minute += CYCLE_MINUTES

    def _facts(self) -> Facts:
        return Facts(
            fleet=self.fleet,
            windows={"tickets": self.window},
            models={} if self.model is None else {"tickets": self.model},
            shares={"tickets": {"alpha": self.ratio, "beta": 1.0 - self.ratio}},
            states={"tickets": self.state},
            cadence=Cadence(),
            limits=self.limits,
            now_s=float(self.weather.time_s[self.minute - 1]),
        )


def _law_rows(series: CenterSeries) -> LawRows:
    return LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )


def _declared(center: CenterWorld) -> Declared:
    return Declared(servers=center.servers, idle_cpu=center.idle_cpu, full_cpu=center.full_cpu)


def _sample(name: str, time_s: float, seen: Readings, at: tuple[int, int, int]) -> Sample:
    values = {reading: float(getattr(seen, reading)[at]) for reading in READINGS}
    return Sample(datacenter=name, service="tickets", time_s=time_s, received_s=time_s, **values)


def _cluster(name: str, center: CenterWorld) -> Cluster:
    return Cluster(
        datacenter=name,
        capacity_rps=center.capacity_rps,
        endpoints=(Endpoint(address="127.0.0.1", port=9000),),
        servers=center.servers,
        idle_cpu=center.idle_cpu,
        full_cpu=center.full_cpu,
    )
