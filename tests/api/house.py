"""A whole control plane in memory behind the real application, for the tests of the API."""

from dataclasses import dataclass, field

import httpx
from fastapi import FastAPI

from controlplane.api.app import create_app
from controlplane.api.dependencies import ApiServices
from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.decisions import Trigger
from controlplane.domain.findings import Observation
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet
from controlplane.engine.access import Access, TokenRequest
from controlplane.engine.cadence import Cadence
from controlplane.engine.consumers.policy_reports import PolicyReports
from controlplane.engine.consumers.seen import Consumers
from controlplane.engine.deciding.replay import Replays
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.fleet.guard import FleetGuard
from controlplane.engine.intents.course import IntentParts
from controlplane.engine.intents.intents import Intents
from controlplane.engine.intents.register import IntentRegister
from controlplane.engine.intents.standing import Standing
from controlplane.engine.learning.jobs import Jobs
from controlplane.engine.learning.models import Models
from controlplane.engine.learning.reports import Reports
from controlplane.engine.operations.office import Office
from controlplane.engine.pokes import Poke, Pokes
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.reconciling.loop import LoopParts, ReconcileLoop
from controlplane.engine.reconciling.records import Records
from controlplane.engine.routes.gray_releases import RouteParts
from controlplane.engine.routes.life import RouteLife
from controlplane.engine.samples.history import History
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.suspicion import SuspicionRules, Suspicions
from controlplane.engine.stages import Instruments
from controlplane.engine.store_watch import StoreWatch
from controlplane.operations import Acting, Ground, office
from controlplane.ports.outside import Artifact, PlaneNode
from controlplane.settings import Settings
from tests import builders
from tests.fakes import training_jobs
from tests.fakes.care import MemoryStoreCare
from tests.fakes.health import watch
from tests.fakes.intents import MemoryIntentStore
from tests.fakes.metric_sources import FakeSource, puller
from tests.fakes.operations import Postbox, memory_operations
from tests.fakes.stores import (
    MemoryAuditLog,
    MemoryDecisionStore,
    MemoryFleetStore,
    MemoryJobStore,
    MemoryMinuteStore,
    MemoryModelRegistry,
    MemorySampleStore,
    MemorySnapshotStore,
    MemoryTokenStore,
    Outage,
)
from tests.fakes.training_jobs import HeldTrainer, JobStores
from tests.model_reports import MemoryModelReports

AUTHOR = Principal(token_id="", name="test", role=AccessRole.ADMIN)
START_S = 1_800_000_000.0
WEBHOOK_ORIGIN = "https://pager.example"


@dataclass(slots=True)
class Clock:
    time_s: float = START_S

    def now(self) -> float:
        return self.time_s


@dataclass(slots=True)
class FakePlane:
    """A data plane with one node that acknowledges and one that refuses."""

    name: str = "envoy"
    applied: list[int] = field(default_factory=list)

    def render(self, snapshot: Snapshot) -> Artifact:
        return Artifact(
            revision=snapshot.revision, version=snapshot.version, parts=(), snapshot=snapshot
        )

    async def apply(self, artifact: Artifact) -> None:
        self.applied.append(artifact.revision)

    async def observe(self) -> list[PlaneNode]:
        good = PlaneNode(
            name="edge-1",
            group="edge",
            connected=True,
            revision=1,
            acked=(("cds", "v1"),),
            acks=3,
        )
        bad = PlaneNode(
            name="edge-2",
            group="edge",
            connected=True,
            revision=0,
            refused=(("rds", "duplicate domain"),),
            nacks=1,
        )
        return [good, bad]

    async def repair(self) -> tuple[Observation, ...]:
        return ()


class House:
    """The engine on stores in memory; `secrets` has one token for each role."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.outage = Outage()
        self.audit = MemoryAuditLog(outage=self.outage)
        self.tokens = MemoryTokenStore(audit=self.audit, outage=self.outage)
        self.snapshots = MemorySnapshotStore(outage=self.outage)
        self.decisions = MemoryDecisionStore(outage=self.outage)
        self.samples = MemorySampleStore(outage=self.outage)
        self.minutes = MemoryMinuteStore(raw=self.samples)
        self.registry = MemoryModelRegistry(audit=self.audit, outage=self.outage)
        self.sheets = MemoryModelReports()
        self.instruments = Instruments(now=self.clock.now)
        self.pokes = Pokes()
        self.publication = Publication()
        self.consumers = Consumers()
        self.access = Access(self.tokens, self.clock.now)
        self.fleet_store = MemoryFleetStore(audit=self.audit, outage=self.outage)
        self.fleets = Fleets(
            self.fleet_store,
            self.pokes,
            self.instruments,
            FleetGuard(self.publication, SuspicionLimits(), self.instruments),
        )
        self.intake = Intake(
            self.samples,
            self.fleets,
            self.pokes,
            Suspicions(self.fleets, self.publication, SuspicionRules(), self.instruments),
            self.instruments,
        )
        self.routes = self._routes()
        self.models = Models(self.registry, self.fleets, self.instruments)
        self.source = FakeSource()
        self.puller = puller(self.source, self.fleets, self.intake, self.instruments)
        self.records = Records(self.decisions, self.instruments)
        self.store = StoreWatch(MemoryStoreCare(outage=self.outage), self.instruments)
        self.standing = Standing()
        self.loop = self._loop()
        self.trainer = HeldTrainer()
        self.jobs = self._jobs()
        self.plane = FakePlane()
        self.secrets: dict[AccessRole, str] = {}
        self.health = watch(self.fleets, self.instruments)
        self.couriers = (Courier(self.plane, self.publication, self.instruments),)
        self.intents = self._intents()
        self.postbox = Postbox()
        self.operations = self._operations()
        self.app = self._app()

    def _routes(self) -> RouteLife:
        return RouteLife(
            RouteParts(
                fleets=self.fleets,
                store=self.fleet_store,
                publication=self.publication,
                pokes=self.pokes,
                window=self.intake.window,
            ),
            self.instruments,
        )

    def _loop(self) -> ReconcileLoop:
        self.parts = LoopParts(
            fleets=self.fleets,
            intake=self.intake,
            models=self.models,
            snapshots=self.snapshots,
            decisions=self.decisions,
            records=self.records,
            publication=self.publication,
            pokes=self.pokes,
            standing=self.standing,
        )
        return ReconcileLoop(self.parts, Cadence(), EnvelopeLimits(), self.instruments)

    def _operations(self) -> Office:
        return office(
            Ground(
                settings=Settings(webhook_origins=(WEBHOOK_ORIGIN,)),
                stores=memory_operations(self.audit, self.outage),
                audit=self.audit,
                loop=self.parts,
                acting=Acting(intents=self.intents, couriers=self.couriers, carrier=self.postbox),
                instruments=self.instruments,
            )
        )

    def _intents(self) -> Intents:
        store = MemoryIntentStore(audit=self.audit, outage=self.outage)
        return Intents(
            IntentParts(
                register=IntentRegister(store, self.snapshots, self.standing),
                standing=self.standing,
                snapshots=self.snapshots,
                fleets=self.fleets,
                publication=self.publication,
                pokes=self.pokes,
                window=self.intake.window,
                couriers=self.couriers,
            ),
            self.instruments,
        )

    def _jobs(self) -> Jobs:
        stores = JobStores(
            samples=self.samples,
            decisions=self.decisions,
            jobs=MemoryJobStore(audit=self.audit, outage=self.outage),
            audit=self.audit,
        )
        at_work = training_jobs.workshop(stores, self.fleets, self.models, self.trainer)
        return training_jobs.jobs(stores, at_work, self.instruments)

    def _app(self) -> FastAPI:
        parts = ApiServices(
            access=self.access,
            publication=self.publication,
            policy_reports=PolicyReports(self.instruments),
            health=self.health,
            consumers=self.consumers,
            intake=self.intake,
            puller=self.puller,
            fleets=self.fleets,
            routes=self.routes,
            loop=self.loop,
            models=self.models,
            jobs=self.jobs,
            decisions=self.decisions,
            replays=Replays(self.fleet_store, self.registry),
            reports=Reports(self.registry, self.sheets),
            samples=self.samples,
            history=History(self.minutes, self.samples),
            audit=self.audit,
            couriers=self.couriers,
            intents=self.intents,
            operations=self.operations,
            instruments=self.instruments,
            records=self.records,
            store=self.store,
            ready=lambda: self.publication.current is not None,
        )
        return create_app(parts)

    async def open(self) -> "House":
        """Issue a token for each role."""
        for role in AccessRole:
            request = TokenRequest(name=f"the-{role}", role=role)
            _, self.secrets[role] = await self.access.issue(request, AUTHOR, "test")
        return self

    async def declare(self, fleet: Fleet | None = None) -> None:
        """Apply a fleet and let the loop publish it."""
        await self.fleets.apply(fleet or builders.fleet(), AUTHOR, "test", force=True)
        await self.tick(Trigger.OPERATOR)

    async def tick(self, trigger: Trigger = Trigger.TIMER) -> None:
        """One pass of the loop."""
        await self.loop.tick([Poke(trigger=trigger)])

    def client(self, role: AccessRole | None = AccessRole.ADMIN) -> httpx.AsyncClient:
        """A caller with the role's token; None has no token."""
        headers = {} if role is None else {"Authorization": f"Bearer {self.secrets[role]}"}
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(
            transport=transport, base_url="http://signalbox.test", headers=headers
        )
