"""One contestant in one weather: it gets samples, as serving does, and decides once a cycle.

Called by backtest.loop. What it decides with is the control plane's own code: the strategy through
the registry, the envelope through `judge`. It never sees the world, only the readings.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.reserves import mustered
from controlplane.domain.guardrails.state import GuardState, Verdict
from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Center, LearnedModel, Shares, Situation
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Datacenter, Role
from controlplane.domain.units import BASIS_POINTS, to_basis_points
from training.backtest.contestant import Contestant
from training.simulation.world import World

SERVICE = "tickets"
PERIOD_S, CYCLE_S = 60.0, 300.0
# As the engine: beyond the last cycle, a decision reads six periods more.
KEEP_S = CYCLE_S + 6 * PERIOD_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a cycle came to; `verdict` is None without an envelope."""

    shares: Shares
    strategy: str
    verdict: Verdict | None


@dataclass(slots=True, kw_only=True)
class Lane:
    """The knowledge of serving about one service.

    Attributes:
        model: None for rules, and for a service that has none.
        applied: shares in force, one per centre, sum 1.
    """

    contestant: Contestant
    service: Service
    centers: tuple[Center, ...]
    model: LearnedModel | None
    applied: Shares
    limits: EnvelopeLimits
    window: ServiceWindow
    state: GuardState

    def observe(self, samples: Iterable[Sample]) -> None:
        """Take in what arrived; a sample without response time or load is refused, as at intake."""
        usable = [s for s in samples if math.isfinite(s.response_time_ms + s.load)]
        if usable:
            self.window = extended(self.window, usable, KEEP_S)

    def decide(self, now_s: float) -> Decided:
        """Decide on the next cycle, and put it in force."""
        situation = self._situation(now_s)
        proposal = propose(situation)
        if self.contestant.bare:
            self.applied = _published(proposal.shares, self.centers)
            return Decided(shares=self.applied, strategy=proposal.strategy, verdict=None)
        verdict = judge(proposal, situation, self.state, self.limits)
        self.state = verdict.state
        self.applied = _published(verdict.shares, self.centers)
        return Decided(shares=self.applied, strategy=proposal.strategy, verdict=verdict)

    def _situation(self, now_s: float) -> Situation:
        model, demoted = self.model, self.state.demoted_model
        in_service = model is not None and model.digest != demoted
        situation = Situation(
            service=self.service,
            centers=self.centers,
            window=self.window,
            applied=self.applied,
            now_s=now_s,
            period_s=PERIOD_S,
            cycle_s=CYCLE_S,
            model=model if in_service else None,
            demoted_model="" if model is None or in_service else demoted,
        )
        return mustered(situation, self.limits)


def lane(
    world: World, contestant: Contestant, model: LearnedModel | None, limits: EnvelopeLimits
) -> Lane:
    """A lane before its first sample, under the operator's ratio.

    The fleet declares the centres' nominal capacity and nothing else: servers, idle and full CPU
    are what a model learned from the logs.
    """
    shares = world.operator.shares
    clusters = tuple(
        Cluster(
            datacenter=name,
            capacity_rps=center.capacity_rps,
            endpoints=(Endpoint(address="127.0.0.1", port=9000),),
        )
        for name, center in zip(names(world), world.centers, strict=True)
    )
    return Lane(
        contestant=contestant,
        service=Service(
            name=SERVICE,
            strategy=contestant.strategy,
            clusters=clusters,
            static_shares=tuple(zip(names(world), shares, strict=True)),
            dither=contestant.dither,
        ),
        centers=tuple(
            Center(
                datacenter=Datacenter(
                    name=cluster.datacenter,
                    role=Role.SAME_CITY if index else Role.PRIMARY,
                    region="north",
                ),
                cluster=cluster,
            )
            for index, cluster in enumerate(clusters)
        ),
        model=model if contestant.learned else None,
        applied=shares,
        limits=limits,
        window=ServiceWindow(service=SERVICE),
        state=GuardState(),
    )


def names(world: World) -> tuple[str, ...]:
    """Names of the centres, primary first; in the order of the alphabet too."""
    return tuple(f"center-{index + 1}" for index in range(len(world.centers)))


def _published(shares: Sequence[float], centers: Sequence[Center]) -> Shares:
    """As they go out: whole basis points."""
    points = to_basis_points(
        {center.name: share for center, share in zip(centers, shares, strict=True)}
    )
    return tuple(points[center.name] / BASIS_POINTS for center in centers)
