"""A site of one data centre behind a real agent's own proxy, for benchmarks of admission policies.

Services are those of `queued_site`; the agent goes by what an earlier run would have left on disk.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from benchmarks.free_ports import free_ports
from benchmarks.live_agent import GROUP, leave, live_agent
from controlplane.domain import canonical
from controlplane.domain.admission.policy import Policy
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import (
    CheckKind,
    Cluster,
    Endpoint,
    HealthCheck,
    RetryPolicy,
    Service,
    StrategyName,
)
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.application.last_good import LastGood

LOOPBACK = "127.0.0.1"
USER_HEADER = "x-user"
# Neither retries nor checks that wait in the queue: overload shows as it is.
PATIENT = RetryPolicy(attempts=0, per_try_timeout_ms=2_000)


def site_of(
    services: Mapping[str, int],
    routes: Mapping[str, tuple[str, str]],
    policy: Policy | None,
    retry: RetryPolicy = PATIENT,
) -> Fleet:
    """A fleet of one data centre.

    Args:
        services: name -> port.
        routes: id -> service and path prefix.
    """
    return Fleet(
        datacenters=(Datacenter(name="dc", role=Role.PRIMARY, region="r"),),
        services=tuple(
            Service(
                name=name,
                strategy=StrategyName.STATIC,
                retry=retry,
                timeout_ms=2_000,
                health_check=HealthCheck(kind=CheckKind.TCP),
                clusters=(
                    Cluster(
                        datacenter="dc",
                        capacity_rps=100.0,
                        endpoints=(Endpoint(address=LOOPBACK, port=port),),
                        servers=1,
                    ),
                ),
            )
            for name, port in services.items()
        ),
        gateways=(GatewayGroup(name=GROUP),),
        routes=tuple(
            Route(id=name, path=PathMatch(value=path), service=service)
            for name, (service, path) in routes.items()
        ),
        policies=() if policy is None else (policy,),
    )


@contextlib.asynccontextmanager
async def proxied(
    folder: Path, fleet: Fleet, services: Mapping[str, tuple[int, int]], takes_s: float
) -> AsyncIterator[str]:
    """Services and an agent before them; the address of its proxy.

    Args:
        services: name -> port and places.
        takes_s: what a request takes that has a place.
    """
    (port,) = free_ports(1)
    texts = [f"{name}:{at}:{places}" for name, (at, places) in services.items()]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.queued_site", *texts, "--takes-s", str(takes_s))
    )
    try:
        leave(folder, fleet.policies, fleet.routes)
        snapshot = build(fleet, {name: {"dc": 1.0} for name in services})
        LastGood(folder).store(canonical.encode(snapshot.content), '"left"', 1)
        options = ("--proxy", f"{LOOPBACK}:{port}", "--user", f"header:{USER_HEADER}")
        with await asyncio.to_thread(_entered, folder, options):
            yield f"http://{LOOPBACK}:{port}"
    finally:
        process.kill()
        await process.wait()


def _entered(folder: Path, options: Sequence[str]) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    stack.enter_context(live_agent(folder, *options))
    return stack
