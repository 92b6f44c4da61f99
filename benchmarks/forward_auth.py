"""What it costs to ask the agent about a request: forward-auth against an nginx that returns 204.

The agent answers as Envoy asks it (`/envoy/PATH`): without policies, with a limit of its own for
each client, and with a limit of all clients in a real Redis. nginx has one process and does nothing
but `return 204`. All are asked in turn by wrk, with one thread and 64 connections, because a shared
machine is not always as fast. Requests per second of one core are requests by processor time of the
process that answers. `python -m benchmarks.forward_auth [--quick] [--json]`
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import command
from benchmarks.free_ports import free_ports
from benchmarks.live_agent import leave, live_agent
from benchmarks.wrk import Load, Wrk, prepared
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy, Scope

CONNECTIONS = 64
PATHS = 1_000
# Far above what one core can ask.
NEVER_REACHED = 1_000_000.0
START_S = 10.0
RIVAL = "nginx"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Who is asked, and the process whose time counts."""

    name: str
    port: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One turn of one target."""

    load: Load
    busy_s: float

    @property
    def core_rps(self) -> float:
        """Requests per second of processor time."""
        return self.load.requests / max(self.busy_s, 1 / TICKS)


def main() -> None:
    """Measure, print."""
    options = command.options(__doc__, quick="two turns of two seconds")
    turns, seconds = (2, 2) if options.quick else (7, 5)
    with tempfile.TemporaryDirectory(prefix="signalbox-forward-") as name:
        runs = measured(Path(name), turns, seconds)
    figures = computed(runs)
    show(runs, figures)
    command.end(options, "forward_auth", figures)


def measured(folder: Path, turns: int, seconds: int) -> Mapping[str, Sequence[Run]]:
    """Every run of each target."""
    wrk = prepared(folder, [f"/envoy/seats/{number}?day=2" for number in range(PATHS)])
    runs: dict[str, list[Run]] = {}
    with targets(folder) as asked:
        for _ in range(turns):
            for target in asked:
                runs.setdefault(target.name, []).append(_run(wrk, target, seconds))
    failed = {name: sum(one.load.failed for one in found) for name, found in runs.items()}
    if any(failed.values()):
        raise SystemExit(f"requests failed: {failed}")
    return runs


@contextlib.contextmanager
def targets(folder: Path) -> Iterator[Sequence[Target]]:
    """All that are asked, running."""
    own = RateLimitPolicy(rate_rps=NEVER_REACHED, key=("source",))
    shared = RateLimitPolicy(rate_rps=NEVER_REACHED, scope=Scope.GLOBAL)
    kinds = {
        "agent, no policy": [],
        "agent, limit per client": [Policy(name="own", rate_limit=own)],
        "agent, limit in Redis": [Policy(name="shared", rate_limit=shared)],
    }
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(_redis(folder))
        found = [stack.enter_context(_nginx(folder))]
        for number, (name, policies) in enumerate(kinds.items()):
            place = folder / f"agent-{number}"
            place.mkdir()
            leave(place, policies)
            # A deadline that a busy machine keeps: what is measured is the cost of the call.
            options = ("--redis", redis, "--redis-deadline-ms", "1000", "--budget-ms", "1000")
            agent = stack.enter_context(live_agent(place, *options))
            found.append(Target(name=name, port=agent.door, pid=agent.process.pid))
        yield found


def computed(runs: Mapping[str, Sequence[Run]]) -> dict[str, float]:
    """Medians, and what a question costs more than nginx's answer."""
    rps = {name: statistics.median(one.core_rps for one in found) for name, found in runs.items()}
    figures: dict[str, float] = {}
    for name, value in rps.items():
        mark = name.replace(",", "").replace(" ", "_").lower()
        figures[f"{mark}_core_rps"] = round(value, 1)
        figures[f"{mark}_us"] = round(1e6 / value, 1)
        if name != RIVAL:
            figures[f"{mark}_times_nginx"] = round(rps[RIVAL] / value, 2)
    return figures


def show(runs: Mapping[str, Sequence[Run]], figures: Mapping[str, float]) -> None:
    """The table."""
    print(f"{'':26}{'requests/s':>12}{'per core':>12}{'us each':>10}{'p99 ms':>9}{'x nginx':>9}")
    for name, found in runs.items():
        mark = name.replace(",", "").replace(" ", "_").lower()
        seen = statistics.median(one.load.rps for one in found)
        p99_ms = statistics.median(one.load.p99_ms for one in found)
        core, each = figures[f"{mark}_core_rps"], figures[f"{mark}_us"]
        times = figures.get(f"{mark}_times_nginx", 1.0)
        print(f"{name:26}{seen:12,.0f}{core:12,.0f}{each:10.1f}{p99_ms:9.2f}{times:9.2f}")


def _run(wrk: Wrk, target: Target, seconds: int) -> Run:
    began_s = _busy_s(target.pid)
    load = wrk.run(target.port, CONNECTIONS, seconds)
    return Run(load=load, busy_s=_busy_s(target.pid) - began_s)


def _busy_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextlib.contextmanager
def _nginx(folder: Path) -> Iterator[Target]:
    (port,) = free_ports(1)
    (folder / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
        events {{ worker_connections 1024; }}
        http {{ access_log off; keepalive_requests 1000000000;
            client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
            fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
            server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }} }}""")
    command = [_program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _child(command) as process:
        yield Target(name=RIVAL, port=port, pid=process.pid)


@contextlib.contextmanager
def _redis(folder: Path) -> Iterator[str]:
    (port,) = free_ports(1)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with _child([_program("redis-server"), *options]):
        yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def _child(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        # Long enough for both; whoever asks too early is told so by wrk or by the agent's log.
        time.sleep(0.5)
        yield process
    finally:
        process.terminate()
        process.wait(START_S)


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        raise FileNotFoundError(f"no {name}: .ci/servers installs it")
    return found


if __name__ == "__main__":
    main()
