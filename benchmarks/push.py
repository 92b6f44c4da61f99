"""How fast a change of weights reaches traffic, and how fast 1,000 streams acknowledge it.

`python -m benchmarks.push [--quick] [--json]`. A real Envoy with 808 routes is pushed the same
change by our endpoint assignments, and in turn a second one by weighted clusters in its 808
routes; each time a probe notes when the first request is answered by the other data centre. Our
time begins with the new snapshot and includes rendering it; building it is a figure of its own.
The other's begins with the compiled routes. Then fake streams in two processes acknowledge
changes of weights.
"""

import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from benchmarks import command
from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import backend, envoy, ready
from benchmarks.push_facts import CENTERS, GROUP, SERVICES, Ground, WeightedRoutes, fleet, snapshot
from controlplane.adapters.envoy.ads import AdsOptions, AdsServer
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions

STREAMS = 1_000
CLIENT_PROCESSES = 2
CLIENT_DEADLINE_S = 60.0
PAUSE_S = 0.01
# Of the plan; printed beside the figure, not enforced here.
FIRST_REQUEST_GOAL_MS, ACKS_GOAL_MS = 10, 1_000


Change = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How often each thing is measured."""

    first_request: int
    acks: int


QUICK, FULL = Rounds(first_request=60, acks=6), Rounds(first_request=400, acks=20)


class Probe:
    """One kept-alive connection to an Envoy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def center(self) -> str:
        """Send a request; the name of the data centre that answered it."""
        self._writer.write(b"GET /area-3/collection-of-things/number-803/details HTTP/1.1\r\n")
        self._writer.write(b"host: benchmark\r\n\r\n")
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return (await self._reader.readexactly(length)).decode()

    async def close(self) -> None:
        """End the connection."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One way of changing weights, with an Envoy that it changes."""

    name: str
    prepare: Callable[[str], Change]
    probe: Probe

    async def first_request_ms(self, center: str) -> float:
        """Send everything to a data centre; time until it answers a request."""
        change = self.prepare(center)
        began = time.perf_counter()
        await change()
        while await self.probe.center() != center:
            pass
        return (time.perf_counter() - began) * 1_000


class Ours:
    """Weights as endpoint assignments, by the plane."""

    def __init__(self, ground: Ground) -> None:
        self.plane = EnvoyPlane(PlaneOptions(ads=AdsOptions(port=0)), _anybody, time.time)
        self._fleet = fleet(ground)
        self._revision = 0

    def prepare(self, center: str) -> Change:
        """The next snapshot; the change renders and applies it."""
        self._revision += 1
        content = replace(snapshot(self._fleet, center), revision=self._revision)

        async def change() -> None:
            await self.plane.apply(self.plane.render(content))

        return change


class Theirs:
    """Weights in the routes; the change serialises and publishes what is already compiled."""

    def __init__(self, ground: Ground) -> None:
        self.server = AdsServer(AdsOptions(port=0), _anybody, time.time)
        self._routes = WeightedRoutes(ground)

    def prepare(self, center: str) -> Change:
        """The next view."""
        view = self._routes.view(center)

        async def change() -> None:
            self.server.publish({GROUP: view}, 0)

        return change


async def _anybody(secret: str | None, node: str, group: str) -> None:
    """Let everybody subscribe."""


@contextlib.asynccontextmanager
async def envoy_at(ads_port: int, listener: int) -> AsyncIterator[Probe]:
    """A ready Envoy and a connection to it."""
    (admin,) = free_ports(1)
    options = BootstrapOptions(
        node=f"real-{listener}",
        group=GROUP,
        control_plane=("127.0.0.1", ads_port),
        agent=None,
        admin=("127.0.0.1", admin),
    )
    with tempfile.TemporaryDirectory() as folder:
        async with envoy(render(options), Path(folder)):
            await ready(admin)
            probe = Probe(*await asyncio.open_connection("127.0.0.1", listener))
            yield probe
            await probe.close()


async def first_requests(targets: list[Target], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each target, alternating."""
    found: dict[str, list[float]] = {target.name: [] for target in targets}
    for number in range(rounds):
        center = CENTERS[(number + 1) % 2]
        for target in targets:
            found[target.name].append(await target.first_request_ms(center))
            await asyncio.sleep(PAUSE_S)
    return found


async def acknowledgements(ours: Ours, port: int, rounds: int) -> list[float]:
    """Milliseconds until all fake streams have acknowledged a change of weights."""
    async with contextlib.AsyncExitStack() as stack:
        share = STREAMS // CLIENT_PROCESSES
        starting = [_clients(port, number * share, share) for number in range(CLIENT_PROCESSES)]
        await asyncio.gather(*(stack.enter_async_context(one) for one in starting))
        found = []
        for number in range(rounds):
            await asyncio.sleep(20 * PAUSE_S)
            wanted = ours.plane.acks + STREAMS
            # `first_requests` has left the first one in force.
            change = ours.prepare(CENTERS[(number + 1) % 2])
            began = time.perf_counter()
            await change()
            await _acknowledged(ours, wanted)
            found.append((time.perf_counter() - began) * 1_000)
    return found


async def _acknowledged(ours: Ours, wanted: int) -> None:
    deadline = time.monotonic() + CLIENT_DEADLINE_S
    for _ in iter(lambda: ours.plane.acks < wanted, False):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{ours.plane.acks} of {wanted} acknowledgements")
        await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def _clients(port: int, first: int, count: int) -> AsyncIterator[None]:
    program = "from benchmarks.ads_clients import run; run()"
    arguments = ["-c", program, f"127.0.0.1:{port}", str(first), str(count)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, *SERVICES, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), CLIENT_DEADLINE_S)
        if not line:
            raise RuntimeError("the fake streams did not come up")
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def measure(rounds: Rounds) -> dict[str, float]:
    """All figures, in milliseconds and ratios."""
    ports = free_ports(4)
    ground = Ground(backends=(ports[0], ports[1]), listener=ports[2])
    ours, theirs = Ours(ground), Theirs(replace(ground, listener=ports[3]))
    for one in (ours, theirs):
        await one.prepare(CENTERS[0])()
    our_port, their_port = await ours.plane.start(), await theirs.server.start()
    async with contextlib.AsyncExitStack() as stack:
        for name, port in zip(CENTERS, ground.backends, strict=True):
            await stack.enter_async_context(backend(name, [port]))
        our_probe = await stack.enter_async_context(envoy_at(our_port, ports[2]))
        their_probe = await stack.enter_async_context(envoy_at(their_port, ports[3]))
        times = await first_requests(
            [
                Target(name="eds", prepare=ours.prepare, probe=our_probe),
                Target(name="rds", prepare=theirs.prepare, probe=their_probe),
            ],
            rounds.first_request,
        )
    acks = await acknowledgements(ours, our_port, rounds.acks)
    await ours.plane.stop()
    await theirs.server.stop()
    building = [_milliseconds(lambda: ours.prepare(CENTERS[0])) for _ in range(20)]
    return {**_figures(times, acks), "snapshot_build_ms_p50": round(statistics.median(building), 3)}


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000


def _figures(times: dict[str, list[float]], acks: list[float]) -> dict[str, float]:
    eds, rds = statistics.median(times["eds"]), statistics.median(times["rds"])
    return {
        "envoy_first_request_ms_p50": round(eds, 3),
        "envoy_first_request_ms_max": round(max(times["eds"]), 3),
        "weighted_routes_first_request_ms_p50": round(rds, 3),
        "weighted_routes_first_request_ms_max": round(max(times["rds"]), 3),
        "weighted_routes_vs_ours_ratio": round(rds / eds, 2),
        "acks_1000_streams_ms": round(statistics.median(acks), 1),
        "acks_1000_streams_ms_max": round(max(acks), 1),
    }


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="fewer rounds, below 50 s")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    rounds = (
        Rounds(first_request=60, acks=5) if options.quick else Rounds(first_request=400, acks=20)
    )
    figures = asyncio.run(measure(rounds))
    print(f"808 routes, {rounds.first_request} changes each in turn, {STREAMS} streams")
    for name, value in figures.items():
        print(f"  {name:<40} {value:>10}")
    print(f"  goals: first request < {FIRST_REQUEST_GOAL_MS} ms, acks < {ACKS_GOAL_MS} ms")
    command.end(options, "push", figures)


if __name__ == "__main__":
    main()
