"""Starts and stops `signalbox serve`: ports, signals, the calendar and the engine's tasks.

Called by the command line. The order is the story of a start: take the port, let `wiring` build
and restore the house, serve Envoys and the API, and only then let time pass.
"""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from controlplane import logs
from controlplane.adapters.scheduler import Calendar
from controlplane.api.app import create_app
from controlplane.api.edge.connection import BoundedConnection, allow_many_files
from controlplane.console.pages import pages
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Retryable
from controlplane.engine.access import Access
from controlplane.engine.consumers.policy_watch import PolicyWatch
from controlplane.engine.patience import patiently
from controlplane.settings import Settings
from controlplane.wiring import House, house

log = structlog.get_logger(__name__)

RETENTION_HOUR_UTC = 3
# What a stop waits for callers that are slow to take their answer.
SHUTDOWN_S = 1
# Python looks for cycles after 700 new objects. Ours are frozen and form next to none, and a large
# fleet or snapshot is hundreds of thousands: reading one takes 0.8 s with 700, 0.5 s with this.
OBJECTS_BEFORE_GC = 10_000
SOCKET_BACKLOG = 2_048
# Allocations, then collections of the younger generation, until one of each generation: rarer
# than Python's own (700, 10, 10), because nearly everything here goes without a collection.
GARBAGE_THRESHOLDS = (2_000, 10, 50)


def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        Conflict: another process serves this data folder.
        Retryable: a port or the data folder cannot be used.
    """
    logs.configure(settings.log_format)
    gc.set_threshold(OBJECTS_BEFORE_GC)
    allow_many_files()
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Start in order, serve, stop in reverse order."""
    listener = _bind(settings.http_host, settings.http_port)
    address = f"http://{settings.http_host}:{listener.getsockname()[1]}"
    with listener:
        async with house(settings, address) as built:
            ads_port = await built.plane.start()
            _settle_memory()
            _listen(listener, address)
            await _tell_first_token(built.access)
            log.info("serve.ready", api=address, ads=f"{settings.ads_host}:{ads_port}")
            await _serve_until_stopped(built, listener)


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn raises them again at its end, which would skip our own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


async def _serve_until_stopped(built: House, listener: socket.socket) -> None:
    server = _Server(
        uvicorn.Config(
            create_app(built.services, pages()),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_S,
            http=BoundedConnection,
        )
    )
    calendar = _calendar(built)
    async with asyncio.TaskGroup() as tasks:
        couriers = _couriers(built, tasks)
        background = _background(built, tasks)
        calendar.start()
        _stop_on_signals(built, server, couriers)
        # What was declared before this start is put in force without waiting for the timer.
        built.pokes.poke(Trigger.OPERATOR)
        # A process that never runs at that hour must forget, too.
        built.retention.poke()
        try:
            await server.serve(sockets=[listener])
        finally:
            calendar.stop()
            for task in (*couriers, *background):
                task.cancel()


def _policy_watch(built: House) -> PolicyWatch:
    services = built.services
    return PolicyWatch(
        lambda: services.publication.current, services.policy_reports, services.instruments
    )


def _couriers(built: House, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
    keep = built.supervisor.keep
    couriers = built.services.couriers
    return [tasks.create_task(keep("courier", courier.run)) for courier in couriers]


def _background(built: House, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
    keep = built.supervisor.keep
    return [
        tasks.create_task(keep("loop", built.services.loop.run)),
        tasks.create_task(keep("following", built.following.run)),
        tasks.create_task(keep("routes", built.services.routes.run)),
        tasks.create_task(keep("intake", built.services.intake.run)),
        tasks.create_task(keep("suspicion", built.services.intake.watch)),
        tasks.create_task(keep("health", built.services.health.run)),
        tasks.create_task(keep("pull", built.services.puller.run)),
        tasks.create_task(keep("records", built.services.records.run)),
        tasks.create_task(keep("policies", _policy_watch(built).run)),
        tasks.create_task(keep("store", built.services.store.run)),
        tasks.create_task(keep("retention", built.retention.run)),
        tasks.create_task(keep("jobs", built.services.jobs.run)),
        tasks.create_task(keep("retraining", built.retraining.run)),
        tasks.create_task(keep("intents", built.services.intents.course.run)),
        tasks.create_task(keep("evacuations", built.evacuations.run)),
        *(
            tasks.create_task(keep(name, run))
            for name, run in built.services.operations.tasks.items()
        ),
    ]


def _stop_on_signals(
    built: House, server: uvicorn.Server, couriers: Iterable[asyncio.Task[None]]
) -> None:
    def stop(number: signal.Signals) -> None:
        # They wait for publications, which end here; long polls and streams are answered.
        for courier in couriers:
            courier.cancel()
        built.services.publication.close()
        server.handle_exit(number, None)

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)


def _calendar(built: House) -> Calendar:
    settings = built.settings
    calendar = Calendar()
    cycle_s = settings.cadence.cycle_s * settings.time_scale
    calendar.timed(cycle_s, lambda due_s: built.pokes.poke(Trigger.TIMER, due_s=due_s), "cycle")
    if settings.retraining_mode == "automatic":
        calendar.every(cycle_s, built.retraining.poke, "retraining")
    calendar.daily(RETENTION_HOUR_UTC, built.retention.poke, "retention")
    return calendar


async def _tell_first_token(access: Access) -> None:
    secret = await patiently(access.ensure_first)
    if secret is not None:
        sys.stdout.write(
            f"First start. One-time admin token (not shown again):\n  {secret}\n"
            "Create your own with it: signalbox token create NAME --role admin\n"
        )
        sys.stdout.flush()


def _settle_memory() -> None:
    """Spare what was restored from every later collection of garbage; it stays for long anyway.

    With 1,000 services a full collection stops the event loop for half a second otherwise.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _bind(host: str, port: int) -> socket.socket:
    """Take the port; it refuses everyone until `_listen`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise _port_unavailable(f"{host}:{port}", error) from error
    listener.setblocking(False)
    return listener


def _listen(listener: socket.socket, address: str) -> None:
    """Open the port, now that the snapshot is in force."""
    try:
        listener.listen(SOCKET_BACKLOG)
    except OSError as error:
        raise _port_unavailable(address, error) from error


def _port_unavailable(where: str, error: OSError) -> Retryable:
    return Retryable(
        "api_port_unavailable",
        f"cannot listen on {where}: {error}; free the port or set SIGNALBOX_HTTP_PORT",
    )
