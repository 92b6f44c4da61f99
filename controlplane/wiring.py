"""Joins everything for `signalbox serve`: the only module that knows all parts.

Order matters and is the story of a start: lock the data folder, open the stores, restore what
was last published, serve it to Envoys and to the API, and only then let time pass. A restart
therefore serves the same version before the first poll can see anything else.
"""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
import uvicorn

from controlplane import logs
from controlplane.adapters.envoy.ads import AdsOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.adapters.envoy.preflight import Preflight, find_envoy
from controlplane.adapters.leader import LeaderLock
from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.scheduler import Calendar
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.api.app import create_app
from controlplane.api.dependencies import ApiServices
from controlplane.console.pages import pages
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.guardrails.limits import scaled as scaled_limits
from controlplane.engine.access import Access
from controlplane.engine.cadence import scaled as scaled_cadence
from controlplane.engine.consumers import Consumers
from controlplane.engine.delivery import Courier
from controlplane.engine.fleets import Fleets
from controlplane.engine.intake import Intake
from controlplane.engine.loop import LoopParts, ReconcileLoop
from controlplane.engine.models import Models
from controlplane.engine.pokes import Pokes
from controlplane.engine.publication import Publication
from controlplane.engine.retention import DAY_S, Retention, RetentionStores, RetentionTimes
from controlplane.engine.stages import Instruments
from controlplane.engine.supervision import Supervisor
from controlplane.settings import Settings

log = structlog.get_logger(__name__)

RETENTION_HOUR_UTC = 3
# Long polls and streams are cut at the end, so a stop is not held up by them.
SHUTDOWN_S = 1
SOCKET_BACKLOG = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """All parts of a running control plane."""

    settings: Settings
    stores: SqlStores
    access: Access
    services: ApiServices
    plane: EnvoyPlane
    pokes: Pokes
    retention: Retention
    supervisor: Supervisor


def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        Conflict: another process serves this data folder.
        Retryable: a port or the data folder cannot be used.
    """
    logs.configure(settings.log_format)
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Start in order, serve, stop in reverse order."""
    listener = _listen(settings.http_host, settings.http_port)
    address = f"http://{settings.http_host}:{listener.getsockname()[1]}"
    with listener:
        async with _house(settings, address) as house:
            ads_port = await house.plane.start()
            await _tell_first_token(house.access)
            log.info("serve.ready", api=address, ads=f"{settings.ads_host}:{ads_port}")
            await _serve_until_stopped(house, listener)


@asynccontextmanager
async def _house(settings: Settings, address: str) -> AsyncIterator[House]:
    instruments = Instruments()
    _make_data_dir(settings.data_dir)
    lock = LeaderLock(settings.data_dir / "leader.lock")
    lock.acquire(address, instruments.now())
    try:
        url = settings.database_url or sqlite_url(settings.data_dir / "signalbox.db")
        shelf = ModelFiles(settings.data_dir / "models", learned)
        stores = await SqlStores.open(url, shelf, settings.store_timeout_s)
        try:
            house = _build(settings, stores, instruments)
            await _restore(house)
            try:
                yield house
            finally:
                await house.plane.stop()
        finally:
            await stores.close()
    finally:
        lock.release()


def _build(settings: Settings, stores: SqlStores, instruments: Instruments) -> House:
    cadence = scaled_cadence(settings.cadence, settings.time_scale)
    pokes = Pokes()
    fleets = Fleets(stores.fleets, pokes, instruments)
    intake = Intake(stores.samples, fleets, pokes, cadence, instruments)
    models = Models(stores.models, fleets, instruments)
    publication = Publication()
    loop = ReconcileLoop(
        LoopParts(
            fleets=fleets,
            intake=intake,
            models=models,
            snapshots=stores.snapshots,
            decisions=stores.decisions,
            publication=publication,
            pokes=pokes,
        ),
        cadence,
        scaled_limits(settings.envelope, settings.time_scale),
        instruments,
    )
    access = Access(stores.tokens, instruments.now)
    plane = _envoy_plane(settings, access, instruments)
    services = ApiServices(
        access=access,
        publication=publication,
        consumers=Consumers(),
        intake=intake,
        fleets=fleets,
        loop=loop,
        models=models,
        decisions=stores.decisions,
        samples=stores.samples,
        audit=stores.audit,
        couriers=(Courier(plane, publication, instruments),),
        instruments=instruments,
        ready=lambda: publication.current is not None,
        period_s=cadence.period_s,
    )
    return House(
        settings=settings,
        stores=stores,
        access=access,
        services=services,
        plane=plane,
        pokes=pokes,
        retention=_retention(settings, stores, instruments),
        supervisor=Supervisor(),
    )


def _retention(settings: Settings, stores: SqlStores, instruments: Instruments) -> Retention:
    return Retention(
        RetentionStores(
            samples=stores.samples, decisions=stores.decisions, snapshots=stores.snapshots
        ),
        RetentionTimes(
            samples_s=settings.sample_retention_days * DAY_S,
            decisions_s=settings.decision_retention_days * DAY_S,
        ),
        instruments,
    )


def _envoy_plane(settings: Settings, access: Access, instruments: Instruments) -> EnvoyPlane:
    binary = Path(settings.envoy_binary) if settings.envoy_binary else None
    options = PlaneOptions(
        ads=AdsOptions(host=settings.ads_host, port=settings.ads_port),
        preflight=Preflight(binary=find_envoy(binary)),
    )
    return EnvoyPlane(options, access.check_node, instruments.now)


async def _restore(house: House) -> None:
    """Take up where the last process ended; the snapshot is in force before any port opens."""
    services = house.services
    await services.fleets.restore()
    await services.models.restore()
    await services.intake.restore()
    await services.loop.restore()
    snapshot = services.publication.current
    if snapshot is None:
        return
    try:
        await house.plane.apply(house.plane.render(snapshot))
    except (Rejected, Retryable) as error:
        # The courier tries again; Envoys keep what they have.
        log.warning("serve.snapshot_not_in_force", reason=error.message)


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn raises them again at its end, which would skip our own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


async def _serve_until_stopped(house: House, listener: socket.socket) -> None:
    server = _Server(
        uvicorn.Config(
            create_app(house.services, pages()),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_S,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )
    calendar = _calendar(house)
    async with asyncio.TaskGroup() as tasks:
        keep = house.supervisor.keep
        background = [
            tasks.create_task(keep("loop", house.services.loop.run)),
            tasks.create_task(keep("intake", house.services.intake.run)),
            tasks.create_task(keep("retention", house.retention.run)),
            *(
                tasks.create_task(keep("courier", courier.run))
                for courier in house.services.couriers
            ),
        ]
        calendar.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
        # What was declared before this start is put in force without waiting for the timer.
        house.pokes.poke(Trigger.OPERATOR)
        # A process that never runs at that hour must forget, too.
        house.retention.poke()
        try:
            await server.serve(sockets=[listener])
        finally:
            calendar.stop()
            for task in background:
                task.cancel()


def _calendar(house: House) -> Calendar:
    settings = house.settings
    calendar = Calendar()
    cycle_s = settings.cadence.cycle_s * settings.time_scale
    calendar.every(cycle_s, lambda: house.pokes.poke(Trigger.TIMER), "cycle")
    calendar.daily(RETENTION_HOUR_UTC, house.retention.poke, "retention")
    return calendar


async def _tell_first_token(access: Access) -> None:
    secret = await access.ensure_first()
    if secret is not None:
        sys.stdout.write(
            f"First start. One-time admin token (not shown again):\n  {secret}\n"
            "Create your own with it: signalbox token create NAME --role admin\n"
        )
        sys.stdout.flush()


def _make_data_dir(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Retryable(
            "store_unavailable",
            f"the data folder {path} cannot be made ({error.strerror}): check SIGNALBOX_DATA_DIR, "
            "mount and owner",
            {"reason": "cannot_open"},
        ) from error


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(SOCKET_BACKLOG)
    except OSError as error:
        listener.close()
        raise Retryable(
            "api_port_unavailable",
            f"cannot listen on {host}:{port}: {error}; free the port or set SIGNALBOX_HTTP_PORT",
        ) from error
    listener.setblocking(False)
    return listener
