"""A store of pictures in memory, checkers that say what a test wants, and a watch over both."""

from dataclasses import dataclass, field

from controlplane.domain.errors import Retryable
from controlplane.domain.health.limits import HealthLimits
from controlplane.domain.health.picture import EndpointKey, Health
from controlplane.domain.services import CheckKind, HealthCheck
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.health.probing import Prober
from controlplane.engine.health.watch import HealthParts, HealthRules, HealthWatch
from controlplane.engine.stages import Instruments


@dataclass(slots=True)
class MemoryHealthStore:
    """Implements `ports.health.HealthStore`."""

    kept: Health | None = None
    away: bool = False

    async def load(self) -> Health | None:
        return self.kept

    async def keep(self, health: Health) -> None:
        if self.away:
            raise Retryable("store_unavailable", "the store is away")
        self.kept = health


@dataclass(slots=True)
class FakeChecker:
    """Implements `ports.health.Checker`: ports in `dead` fail, others pass."""

    dead: set[int] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)

    async def check(self, endpoint: EndpointKey, _check: HealthCheck) -> str:
        self.asked.append(endpoint.port)
        return "refused" if endpoint.port in self.dead else ""


def rules(limits: HealthLimits | None = None) -> HealthRules:
    chosen = limits or HealthLimits()
    return HealthRules(quorum=chosen.quorum, passive=chosen.passive, budget=chosen.budget)


def watch(
    fleets: Fleets,
    instruments: Instruments,
    store: MemoryHealthStore | None = None,
    checker: FakeChecker | None = None,
) -> HealthWatch:
    """A watch; without a checker it has no observer of its own."""
    chosen = rules()
    checkers = {} if checker is None else dict.fromkeys(CheckKind, checker)
    return HealthWatch(
        HealthParts(
            fleets=fleets,
            store=store or MemoryHealthStore(),
            prober=None
            if checker is None
            else lambda changed: Prober(checkers, chosen.budget, changed, instruments.now),
        ),
        chosen,
        instruments,
    )
