"""Joins everything for `signalbox serve`: the only module that knows all parts.

`house` is what `serving` calls: lock the data folder, open the stores, join the parts, restore
what was last published. Only then may time pass, so a restart serves the same version before the
first poll can see anything else.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from controlplane.adapters.envoy.plane import EnvoyPlane
from controlplane.adapters.prometheus import Prometheus
from controlplane.adapters.sql.stores import SqlStores
from controlplane.adapters.webhook_carrier import HttpCarrier
from controlplane.api.dependencies import ApiServices
from controlplane.checking import health_watch, loads_told
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.limits import scaled as scaled_limits
from controlplane.domain.health.judging import Orders
from controlplane.domain.intents.orders import orders
from controlplane.domain.promotions import Promoting
from controlplane.domain.snapshot import Content
from controlplane.emergencies import evacuations, intents
from controlplane.engine.access import Access
from controlplane.engine.cadence import scaled as scaled_cadence
from controlplane.engine.consumers.policy_reports import PolicyReports
from controlplane.engine.consumers.seen import Consumers
from controlplane.engine.deciding.replay import Replays
from controlplane.engine.errands import Errand
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.fleet.guard import FleetGuard
from controlplane.engine.health.watch import HealthWatch
from controlplane.engine.intents.evacuation import Evacuations
from controlplane.engine.learning.models import Models
from controlplane.engine.learning.reports import Reports
from controlplane.engine.operations.office import Office
from controlplane.engine.patience import patiently
from controlplane.engine.pokes import Pokes
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.publishing.following import Following
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.reconciling.loop import LoopParts, ReconcileLoop
from controlplane.engine.reconciling.records import Records
from controlplane.engine.routes.gray_releases import RouteParts
from controlplane.engine.routes.life import RouteLife
from controlplane.engine.samples.history import History
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.suspicion import Suspicions
from controlplane.engine.stages import Instruments
from controlplane.engine.store_watch import StoreWatch
from controlplane.engine.supervision import Supervisor
from controlplane.operations import Acting, Ground, office
from controlplane.ports.outside import DataPlane
from controlplane.proxies import envoy_plane, proxy_planes, renderings
from controlplane.sampling import prometheus_client, puller, suspicion_rules
from controlplane.settings import Settings
from controlplane.storing import retention, stores_opened
from controlplane.trainings import jobs, retraining, shelf

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """All parts of a running control plane."""

    settings: Settings
    stores: SqlStores
    access: Access
    services: ApiServices
    plane: EnvoyPlane
    following: Following
    prometheus: Prometheus
    pokes: Pokes
    retention: Errand
    retraining: Errand
    supervisor: Supervisor
    evacuations: Evacuations
    carrier: HttpCarrier


@asynccontextmanager
async def house(settings: Settings, address: str) -> AsyncIterator[House]:
    """Everything, restored and ready to serve at `address`; closed in reverse order."""
    instruments = Instruments()
    async with stores_opened(settings, shelf(settings), address, instruments.now()) as stores:
        built = _build(settings, stores, instruments)
        await _restore(built)
        try:
            yield built
        finally:
            await built.plane.stop()
            await built.prometheus.close()
            await built.carrier.close()


def _parts(settings: Settings, stores: SqlStores, instruments: Instruments) -> LoopParts:
    pokes = Pokes()
    publication = Publication()
    rules = suspicion_rules(settings)
    guard = FleetGuard(publication, rules.limits, instruments)
    fleets = Fleets(stores.fleets, pokes, instruments, guard)
    suspicions = Suspicions(fleets, publication, rules, instruments)
    return LoopParts(
        fleets=fleets,
        intake=Intake(stores.samples, fleets, pokes, suspicions, instruments),
        models=Models(stores.models, fleets, instruments, Promoting(settings.promotion_mode)),
        snapshots=stores.snapshots,
        decisions=stores.decisions,
        records=Records(stores.decisions, instruments),
        publication=publication,
        pokes=pokes,
    )


def _build(settings: Settings, stores: SqlStores, instruments: Instruments) -> House:
    parts = _parts(settings, stores, instruments)
    cadence = scaled_cadence(settings.cadence, settings.time_scale)
    planes = _planes(settings, stores, parts, instruments)
    prometheus = prometheus_client(settings)
    acting = _acting(settings, stores, parts, planes, instruments)
    services = ApiServices(
        access=planes.access,
        publication=parts.publication,
        consumers=Consumers(),
        policy_reports=PolicyReports(instruments),
        health=_health(settings, stores, parts, planes, instruments),
        intake=parts.intake,
        puller=puller(settings, prometheus, parts, instruments),
        fleets=parts.fleets,
        routes=_routes(settings, stores, parts, instruments),
        loop=ReconcileLoop(parts, cadence, _limits(settings), instruments),
        models=parts.models,
        jobs=jobs(settings, stores, parts, instruments),
        decisions=stores.decisions,
        replays=Replays(stores.fleets, stores.models),
        reports=Reports(stores.models, shelf(settings)),
        samples=stores.samples,
        history=History(stores.minutes, stores.samples),
        audit=stores.audit,
        couriers=acting.couriers,
        intents=acting.intents,
        operations=_operations(settings, stores, parts, acting, instruments),
        renderings=renderings(settings),
        instruments=instruments,
        records=parts.records,
        store=StoreWatch(stores.database, instruments),
        ready=lambda: parts.publication.current is not None and planes.envoy.serving,
        period_s=cadence.period_s,
    )
    return House(
        settings=settings,
        stores=stores,
        access=planes.access,
        services=services,
        plane=planes.envoy,
        following=planes.following,
        prometheus=prometheus,
        pokes=parts.pokes,
        retention=Errand(retention(settings, stores, instruments).sweep),
        retraining=Errand(retraining(services, settings).look),
        supervisor=Supervisor(),
        evacuations=evacuations(settings, services, instruments),
        carrier=acting.carrier,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planes:
    """The Envoys, who may ask as one, and what keeps every plane from old revisions."""

    access: Access
    envoy: EnvoyPlane
    following: Following


def _planes(
    settings: Settings, stores: SqlStores, parts: LoopParts, instruments: Instruments
) -> _Planes:
    access = Access(stores.tokens, instruments.now)
    following = Following(parts.snapshots, parts.publication, parts.pokes)

    async def authorize(secret: str | None, node: str, group: str) -> object:
        # A process that was stopped and goes on serves nobody anew before it has caught up.
        await following.caught_up(lambda: envoy.revision)
        return await access.check_node(secret, node, group)

    envoy = envoy_plane(settings, authorize, instruments.now)
    return _Planes(access=access, envoy=envoy, following=following)


def _acting(
    settings: Settings,
    stores: SqlStores,
    parts: LoopParts,
    planes: _Planes,
    instruments: Instruments,
) -> Acting[HttpCarrier]:
    couriers = _couriers(settings, planes, parts.publication, instruments)
    return Acting(
        intents=intents(settings, stores, parts, couriers, instruments),
        couriers=couriers,
        carrier=HttpCarrier(settings.webhook_timeout_s),
    )


def _operations(
    settings: Settings,
    stores: SqlStores,
    parts: LoopParts,
    acting: Acting[HttpCarrier],
    instruments: Instruments,
) -> Office:
    return office(
        Ground(
            settings=settings,
            stores=stores.operations,
            audit=stores.audit,
            loop=parts,
            acting=acting,
            instruments=instruments,
        )
    )


def _health(
    settings: Settings,
    stores: SqlStores,
    parts: LoopParts,
    planes: _Planes,
    instruments: Instruments,
) -> HealthWatch:
    """The watch; failover asks it what is down, and it asks failover what was done."""
    standing, fleets = parts.standing, parts.fleets
    health = health_watch(settings, fleets, stores.health, instruments)
    standing.down = lambda service, center: health.picture.down(service, center)
    standing.out = lambda: health.out
    health.told = parts.pokes.hurry
    planes.envoy.tell_loads(loads_told(health, fleets))

    def ordered() -> Orders:
        current = parts.publication.current
        content = Content() if current is None else current.content
        return orders(standing.intents, fleets.current.fleet, content, instruments.now())

    health.orders = ordered
    return health


def _routes(
    settings: Settings, stores: SqlStores, parts: LoopParts, instruments: Instruments
) -> RouteLife:
    scale = settings.time_scale
    return RouteLife(
        RouteParts(
            fleets=parts.fleets,
            store=stores.fleets,
            publication=parts.publication,
            pokes=parts.pokes,
            window=parts.intake.window,
            period_s=scaled_cadence(settings.cadence, scale).period_s,
            fresh_s=settings.envelope.fresh_s * scale,
        ),
        instruments,
    )


def _couriers(
    settings: Settings, planes: _Planes, publication: Publication, instruments: Instruments
) -> tuple[Courier, ...]:
    every: tuple[DataPlane, ...] = (planes.envoy, *proxy_planes(settings))
    check, overtaken = planes.following.check, planes.following.overtaken
    return tuple(Courier(plane, publication, instruments, check, overtaken) for plane in every)


def _limits(settings: Settings) -> EnvelopeLimits:
    return scaled_limits(settings.envelope, settings.time_scale)


async def _restore(built: House) -> None:
    """Take up where the last process ended; the snapshot is in force before any port opens."""
    services = built.services
    for part in (services.fleets, services.models, services.intake, services.loop, services.jobs):
        await patiently(part.restore)
    await patiently(services.health.restore)
    await patiently(services.intents.restore)
    await patiently(services.operations.restore)
    services.fleets.confirm(services.loop.generation)
    snapshot = services.publication.current
    if snapshot is None:
        return
    try:
        await built.plane.apply(built.plane.render(snapshot))
    except (Rejected, Retryable) as error:
        # The courier tries again; Envoys keep what they have.
        log.warning("serve.snapshot_not_in_force", reason=error.message)
