"""How soon a dead data centre is known, how often a flapping target is believed, a probe's price.

Beside the observer of the control plane, in the same run: a real Envoy that checks the same
flapping targets with the same interval and thresholds, and probes by httpx in place of our own.
`python -m benchmarks.health [--quick] [--json]`
"""

import asyncio
import contextlib
import random
import resource
import signal
import statistics
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks import command
from benchmarks.flapping import FlappingTargets, checking_envoy, envoy_changes
from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import backend
from controlplane.adapters.checkers.http import HttpChecker
from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import CheckKind, HealthCheck
from controlplane.engine.health.probing import Prober
from controlplane.ports.health import Checker

CHECK = HealthCheck()
EAST, WEST = 8, 5
FLAPPING_S = 60.0
# Scaled in time for `--quick`: as many probes.
QUICK_INTERVAL_MS = 40
FLAPPING_TIMEOUT_MS = 1_000
DEADLINE_S = 20.0
SEED = 2025
# Ten targets of each kind: fails one in three, passes one in three, and by chance.
EACH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    kills: int
    hangs: int
    interval_ms: int
    probes: int


QUICK = Size(kills=8, hangs=6, interval_ms=QUICK_INTERVAL_MS, probes=200)
FULL = Size(kills=50, hangs=50, interval_ms=CHECK.interval_ms, probes=2_000)


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="fewer repetitions, shorter intervals")
    figures = asyncio.run(measure(QUICK if options.quick else FULL))
    show(figures)
    command.end(options, "health", figures)


async def measure(size: Size) -> dict[str, float]:
    """Everything, one part after the other."""
    kills = [await fall(signal.SIGKILL) for _ in range(size.kills)]
    hangs = [await fall(signal.SIGSTOP) for _ in range(size.hangs)]
    return {
        **_spread("kill_to_down_ms", kills),
        **_spread("hang_to_down_ms", hangs),
        **await flapping(size.interval_ms),
        **await cost(size.probes),
    }


async def fall(number: signal.Signals) -> float:
    """Milliseconds from the signal to one data centre until all its endpoints are unhealthy."""
    ports = free_ports(EAST + WEST)
    east, west = ports[:EAST], ports[EAST:]
    async with backend("east", east) as dying, backend("west", west):
        prober = Prober(checkers(), ProbeBudget(), _ignore, time.time)
        prober.watch({key(port): CHECK for port in ports})
        async with _running(prober):
            await _until(lambda: _all(prober, ports, Verdict.HEALTHY))
            # Not in step with the probes.
            await asyncio.sleep(random.uniform(0.0, CHECK.interval_ms / 1_000))
            started_s = time.perf_counter()
            dying.process.send_signal(number)
            await _until(lambda: _all(prober, east, Verdict.UNHEALTHY))
            took_ms = 1_000 * (time.perf_counter() - started_s)
            if not _all(prober, west, Verdict.HEALTHY):
                raise SystemExit("the other data centre was taken for dead")
    return took_ms


async def flapping(interval_ms: int) -> dict[str, float]:
    """Changes of verdict of flapping targets in as many probes as 60 s have at 250 ms."""
    duration_s = FLAPPING_S * interval_ms / CHECK.interval_ms
    check = HealthCheck(interval_ms=interval_ms, timeout_ms=FLAPPING_TIMEOUT_MS)
    targets = FlappingTargets(free_ports(3 * EACH), EACH, SEED)
    changes: dict[EndpointKey, int] = {}
    verdicts: dict[EndpointKey, Verdict] = {}

    def changed(one: EndpointKey) -> None:
        verdict = prober.opinions()[one].verdict
        if verdicts.get(one, verdict) is not verdict:
            changes[one] = changes.get(one, 0) + 1
        verdicts[one] = verdict

    budget = ProbeBudget(per_prober=100_000.0, per_endpoint=1_000.0)
    prober = Prober(checkers(), budget, changed, time.time)
    prober.watch({key(port, f"s{port}"): check for port in targets.ports})
    with TemporaryDirectory() as folder:
        async with (
            targets.running(),
            checking_envoy(targets.ports, check, Path(folder)) as admin,
            _running(prober),
        ):
            await _until(lambda: all(v is Verdict.HEALTHY for v in _verdicts(prober)))
            targets.flap = True
            by_envoy = await envoy_changes(admin, duration_s)
    return {
        "flapping_changes_max": max(changes.values(), default=0),
        "flapping_changes_envoy_max": max(by_envoy.values(), default=0),
        "flapping_targets_above_1": sum(count > 1 for count in changes.values()),
        "flapping_targets_above_1_envoy": sum(count > 1 for count in by_envoy.values()),
        "flapping_targets": len(targets.ports),
    }


async def cost(probes: int) -> dict[str, float]:
    """Processor time of one probe, ours and by httpx, alternating."""
    (port,) = free_ports(1)
    endpoint, checker = key(port), HttpChecker()
    ours_s = theirs_s = 0.0
    async with backend("east", [port]), httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{port}{CHECK.path}"
        headers = {"connection": "close"}
        for _ in range(probes):
            ours_s += await _cpu_s(lambda: checker.check(endpoint, CHECK))
            theirs_s += await _cpu_s(lambda: client.get(url, headers=headers))
    return {
        "probe_cpu_us": round(1e6 * ours_s / probes, 1),
        "probe_cpu_httpx_us": round(1e6 * theirs_s / probes, 1),
    }


def show(figures: Mapping[str, float]) -> None:
    """A table with ratios."""
    rows = (
        ("kill -9 to down, mean / p99, ms", "kill_to_down_ms_mean", "kill_to_down_ms_p99"),
        ("SIGSTOP to down, mean / p99, ms", "hang_to_down_ms_mean", "hang_to_down_ms_p99"),
        ("flapping, changes: us / Envoy", "flapping_changes_max", "flapping_changes_envoy_max"),
        (
            "flapping, targets above 1: us / Envoy",
            "flapping_targets_above_1",
            "flapping_targets_above_1_envoy",
        ),
        ("one probe, CPU us: us / httpx", "probe_cpu_us", "probe_cpu_httpx_us"),
    )
    for title, first, second in rows:
        one, two = figures[first], figures[second]
        ratio = f"{two / one:8.1f} x" if one else ""
        print(f"{title:<42}{one:>10.1f}{two:>10.1f}{ratio}")


def checkers() -> dict[CheckKind, Checker]:
    """HTTP alone."""
    return {CheckKind.HTTP: HttpChecker()}


def key(port: int, service: str = "shop") -> EndpointKey:
    """An endpoint on loopback; those of one service are neighbours."""
    return EndpointKey(
        service=service, datacenter="east", cluster="", address="127.0.0.1", port=port
    )


def _ignore(_key: EndpointKey) -> None:
    """Nobody is told."""


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
    return {
        f"{name}_mean": round(statistics.fmean(ordered), 1),
        f"{name}_p99": round(last, 1),
    }


def _verdicts(prober: Prober) -> list[Verdict]:
    return [one.verdict for one in prober.opinions().values()]


def _all(prober: Prober, ports: Sequence[int], verdict: Verdict) -> bool:
    found = prober.opinions()
    return all(found[key(port)].verdict is verdict for port in ports)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - the verdicts of a prober are no event
            await asyncio.sleep(0.001)


async def _cpu_s(work: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF)
    made = work()
    if asyncio.iscoroutine(made):
        await made
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.asynccontextmanager
async def _running(prober: Prober) -> AsyncIterator[None]:
    task = asyncio.create_task(prober.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


if __name__ == "__main__":
    main()
