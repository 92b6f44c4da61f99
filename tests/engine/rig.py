"""The engine's loop over stores in memory, with a clock that the test moves."""

from dataclasses import dataclass, field, replace

from controlplane.domain.decisions import Trigger
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet
from controlplane.engine.cadence import Cadence
from controlplane.engine.findings import Findings
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.fleet.guard import FleetGuard
from controlplane.engine.intents.course import IntentParts
from controlplane.engine.intents.intents import Intents
from controlplane.engine.intents.register import IntentRegister
from controlplane.engine.intents.standing import Standing
from controlplane.engine.learning.models import Models
from controlplane.engine.pokes import Poke, Pokes
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.reconciling.loop import LoopParts, ReconcileLoop
from controlplane.engine.reconciling.records import Records
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.suspicion import SuspicionRules, Suspicions
from controlplane.engine.stages import Instruments
from tests.builders import OPERATOR, sample
from tests.fakes.stores import MemoryStores

START_S = 1_800_000_000.0


@dataclass(slots=True)
class Clock:
    time_s: float = START_S

    def now(self) -> float:
        return self.time_s


@dataclass(slots=True)
class Rig:
    """One process; another `Rig` over the same stores is its restart, or a second writer."""

    stores: MemoryStores = field(default_factory=MemoryStores)
    clock: Clock = field(default_factory=Clock)
    instruments: Instruments = field(init=False)
    pokes: Pokes = field(init=False)
    publication: Publication = field(init=False)
    fleets: Fleets = field(init=False)
    intake: Intake = field(init=False)
    models: Models = field(init=False)
    records: Records = field(init=False)
    loop: ReconcileLoop = field(init=False)
    intents: Intents = field(init=False)

    def __post_init__(self) -> None:
        self.instruments = Instruments(now=self.clock.now)
        self.pokes = Pokes()
        self.publication = Publication()
        stores, instruments = self.stores, self.instruments
        guard = FleetGuard(self.publication, SuspicionLimits(), instruments)
        self.fleets = Fleets(stores.fleets, self.pokes, instruments, guard)
        suspicions = Suspicions(self.fleets, self.publication, SuspicionRules(), instruments)
        self.intake = Intake(stores.samples, self.fleets, self.pokes, suspicions, instruments)
        self.models = Models(stores.models, self.fleets, instruments)
        self.records = Records(stores.decisions, instruments)
        standing = Standing()
        parts = LoopParts(
            fleets=self.fleets,
            intake=self.intake,
            models=self.models,
            snapshots=stores.snapshots,
            decisions=stores.decisions,
            records=self.records,
            publication=self.publication,
            pokes=self.pokes,
            standing=standing,
        )
        self.intents = Intents(
            IntentParts(
                register=IntentRegister(stores.intents, stores.snapshots, standing),
                standing=standing,
                snapshots=stores.snapshots,
                fleets=self.fleets,
                publication=self.publication,
                pokes=self.pokes,
                window=self.intake.window,
            ),
            instruments,
        )
        self.loop = ReconcileLoop(parts, Cadence(), EnvelopeLimits(), instruments)

    async def declare(self, fleet: Fleet) -> None:
        """Apply a fleet and let the loop publish it."""
        await self.fleets.apply(fleet, OPERATOR, force=True)
        await self.loop.tick(await self.pokes.take())

    async def tick(
        self, trigger: Trigger = Trigger.TIMER, services: frozenset[str] | None = None
    ) -> None:
        """One pass for one poke."""
        await self.loop.tick([Poke(trigger=trigger, services=services)])

    async def follow(self) -> None:
        """What intents and the loop do without time passing, until nothing is urgent any more."""
        for _ in range(10):
            await self.intents.course.look()
            if not self.pokes.urgent:
                return
            await self.loop.tick(await self.pokes.take())
        raise AssertionError("it is urgent again and again")

    async def measure(self, service: str = "tickets", hot: float = 0.6, cold: float = 0.3) -> None:
        """A fresh sample of both data centres, the first one hotter."""
        for center, cpu in (("beijing-1", hot), ("beijing-2", cold)):
            one = sample(center, self.clock.now(), cpu_avg=cpu, cpu_max=cpu)
            receipt = await self.intake.accept([replace(one, service=service)])
            assert receipt.accepted == 1, receipt
        await self.intake.flush()

    async def restart(self) -> "Rig":
        """Another process on the same stores, started as wiring starts it."""
        other = Rig(stores=self.stores, clock=self.clock)
        await other.fleets.restore()
        await other.models.restore()
        await other.intake.restore()
        await other.loop.restore()
        await other.intents.restore()
        return other

    @property
    def findings(self) -> Findings:
        """What is wrong now."""
        return self.instruments.findings

    @property
    def troubled(self) -> list[str]:
        """Subjects of the standing findings."""
        return [finding.observation.subject for finding in self.findings.standing()]

    @property
    def revision(self) -> int:
        """The published revision; 0 before the first."""
        current = self.publication.current
        return 0 if current is None else current.revision

    def weights(self, service: str = "tickets") -> dict[str, int]:
        """Published weights in basis points."""
        current = self.publication.current
        assert current is not None
        sets = {one.service: dict(one.weights) for one in current.content.weights.weights}
        return sets[service]
