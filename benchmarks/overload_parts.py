"""The parts of benchmarks.overload: two agents with their proxies, one Redis, one upstream."""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.free_ports import free_ports
from benchmarks.live_agent import GROUP, LiveAgent, leave, live_agent
from controlplane.domain import fleet_snapshot, snapshot
from controlplane.domain.admission.overload.policy import Alone, OverloadPolicy, Read
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.routing.route import Route
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    Service,
)
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.application.last_good import LastGood

# The same upstream under two names: one with the policy, one without.
PROTECTED, BARE = "protected", "bare"
# Not a module that `make bench` would take for a benchmark.
UPSTREAM = "from benchmarks.overload_upstream import run; run()"
THRESHOLD, LIFETIME_S = 100, 3.0
START_S = 20.0
# Redis and the agents share a machine with the load and with whatever else runs there.
DEADLINE_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What runs.

    Attributes:
        ports: of the agents' proxies.
    """

    agents: tuple[LiveAgent, ...]
    ports: tuple[int, ...]
    upstream: subprocess.Popen[bytes]
    upstream_port: int

    def figures(self) -> dict[str, int]:
        """What the upstream had in work since the last look."""
        return dict(json.loads(self._told("/_figures")))

    def away(self) -> int:
        """How often an agent had to do without Redis."""
        return sum(agent.log.read_text().count("shared_state.away") for agent in self.agents)

    def release(self) -> None:
        """The show that hangs answers from now on."""
        self._told("/_release")

    def calm(self) -> None:
        """Wait until what a crowd has left behind is done."""
        self._until(lambda: not self.figures()["in_work"])

    def until_in_work(self) -> None:
        """Wait until the upstream is asked."""
        self._until(lambda: self.figures()["in_work"])

    def _until(self, holds: Callable[[], object]) -> None:
        end_s = time.monotonic() + START_S
        while not holds() and time.monotonic() < end_s:
            time.sleep(0.02)

    def _told(self, path: str) -> bytes:
        url = f"http://127.0.0.1:{self.upstream_port}{path}"
        with urllib.request.urlopen(url, timeout=START_S) as answer:
            return bytes(answer.read())


def policy(**changes: float) -> OverloadPolicy:
    """What protects the upstream: from 20 requests per second on, over 5 s."""
    given: dict[str, float] = {
        "threshold": THRESHOLD,
        "window_s": 5.0,
        "lifetime_s": LIFETIME_S,
        "token_s": 2.0,
        "wait_s": 2.5,
        "stale_s": 60.0,
        **changes,
    }
    reads = (Read(path="/shows/{show}/seats"),)
    # A machine that is busy enough to lose Redis must not look like two fetches at once.
    return OverloadPolicy(reads=reads, alone=Alone.REFUSE, **given)  # type: ignore[arg-type]


@contextlib.contextmanager
def site(folder: Path, declared: OverloadPolicy, at_once: float) -> Iterator[Site]:
    """All of it, until the block ends; `at_once` is N0 of the upstream's law."""
    port, redis_port, *proxies = free_ports(4)
    with contextlib.ExitStack() as stack:
        law = ("-c", UPSTREAM, str(port), str(at_once))
        upstream = stack.enter_context(_process(*law))
        stack.enter_context(_redis(redis_port, folder))
        agents = tuple(
            stack.enter_context(_agent(folder / name, declared, (port, redis_port, proxy)))
            for name, proxy in zip(("one", "two"), proxies, strict=True)
        )
        yield Site(agents=agents, ports=tuple(proxies), upstream=upstream, upstream_port=port)


@contextlib.contextmanager
def _agent(
    folder: Path, declared: OverloadPolicy, ports: tuple[int, int, int]
) -> Iterator[LiveAgent]:
    upstream, redis, proxy = ports
    folder.mkdir()
    attached = Attachment(services=(PROTECTED,))
    leave(folder, [Policy(name="seats", attachment=attached, overload=declared)])
    body = snapshot.encode(fleet_snapshot.build(_fleet(upstream), _SHARES, {}))
    LastGood(folder).store(body, '"left"', 1)
    options = [
        *("--proxy", f"127.0.0.1:{proxy}", "--name", folder.name),
        *("--redis", f"redis://127.0.0.1:{redis}/0"),
        *("--redis-deadline-ms", str(DEADLINE_MS)),
    ]
    with live_agent(folder, *options) as agent:
        yield agent


_SHARES = {name: {"east": 1.0} for name in (PROTECTED, BARE)}


def _fleet(port: int) -> Fleet:
    def service(name: str) -> Service:
        return Service(
            name=name,
            timeout_ms=30_000,
            load_balancing=LoadBalancing.ROUND_ROBIN,
            health_check=HealthCheck(interval_ms=1_000, timeout_ms=1_000),
            # Each retry would be load of its own.
            retry=RetryPolicy(attempts=0, per_try_timeout_ms=30_000),
            clusters=(
                Cluster(
                    datacenter="east",
                    capacity_rps=1_000.0,
                    endpoints=(Endpoint(address="127.0.0.1", port=port),),
                ),
            ),
        )

    return Fleet(
        datacenters=(Datacenter(name="east", role=Role.PRIMARY, region="r1"),),
        services=(service(PROTECTED), service(BARE)),
        gateways=(GatewayGroup(name=GROUP),),
        routes=tuple(
            Route(id=name, service=name, hosts=(f"{name}.example",)) for name in (PROTECTED, BARE)
        ),
    )


@contextlib.contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _redis(port: int, folder: Path) -> Iterator[None]:
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        _until_listening(port)
        yield
    finally:
        process.kill()
        process.wait()


def _until_listening(port: int) -> None:
    end_s = time.monotonic() + START_S
    while True:
        try:
            with contextlib.closing(_connected(port)):
                return
        except OSError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.02)


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 1.0)
