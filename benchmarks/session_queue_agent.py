"""A gateway agent with its reverse proxy, in front of the benchmark's site.

Started by `session_queue_parts` as a child of its own. Its kind is `session`, the policy
`session_queue` of the agent's own pipeline; or `request`, the comparison: the same law, site and
proxy, but what waits in order of arrival is each request.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import structlog
import uvloop
from prometheus_client import CollectorRegistry

from controlplane.domain import fleet_snapshot, snapshot
from controlplane.domain.admission.asking import ADMITTED, Asked
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.session_queue.control import (
    Control,
    Period,
    at_start,
    controlled,
    whole,
)
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.routing.route import Route
from controlplane.domain.services import Cluster, Endpoint, LoadBalancing, RetryPolicy, Service
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.admission.enforcing import Outcome, Ruling
from gateway.admission.pipeline import Pipeline
from gateway.admission.registry import MAKERS
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import CountsAndLines
from gateway.client_options import ClientOptions
from gateway.last_good import configuration
from gateway.proxy.options import ProxyOptions
from gateway.proxy.proxy import Proxy
from gateway.session import Session
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import in_redis

GROUP = "edge"
QUEUE = "enrolment"
TIMEOUT_MS = 120_000

Rule = Callable[[Asked], Awaitable[Ruling]]


class RequestQueue:
    """Requests wait in order of arrival; how many are in progress follows the same law."""

    def __init__(self, policy: SessionQueuePolicy) -> None:
        self._policy = policy
        self._control: Control = at_start(policy)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._inside = 0
        self._seen: list[Outcome] = []
        self._entered = 0

    async def rule(self, asked: Asked) -> Ruling:
        """Let a request through when it is its turn."""
        if self._waiting or self._inside >= whole(self._control):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._enter()
        return Ruling(decision=ADMITTED, ended=self._ended)

    async def run(self) -> None:
        """Size the pool, period by period."""
        began_s = time.monotonic()
        while True:
            await asyncio.sleep(self._policy.period_s)
            now_s = time.monotonic()
            period = Period(
                length_s=now_s - began_s,
                answers=len(self._seen),
                failures=0,
                total_s=sum(one.took_s for one in self._seen),
                entered=self._entered,
                inside=self._inside,
                waiting=len(self._waiting),
            )
            self._control = controlled(self._policy, self._control, period)
            if not period.inside and not period.waiting:
                # The next crowd begins as the first one did.
                self._control = at_start(self._policy)
            self._seen, self._entered, began_s = [], 0, now_s
            self._fill()

    def _ended(self, outcome: Outcome) -> None:
        self._seen.append(outcome)
        self._inside -= 1
        self._fill()

    def _fill(self) -> None:
        while self._waiting and self._inside < whole(self._control):
            turn = self._waiting.popleft()
            if not turn.done():
                self._enter()
                turn.set_result(None)

    def _enter(self) -> None:
        self._inside += 1
        self._entered += 1


def fleet(port: int) -> Fleet:
    """One service with one endpoint."""
    service = Service(
        name="site",
        timeout_ms=TIMEOUT_MS,
        load_balancing=LoadBalancing.ROUND_ROBIN,
        retry=RetryPolicy(attempts=0, per_try_timeout_ms=TIMEOUT_MS),
        clusters=(
            Cluster(
                datacenter="dc-east",
                capacity_rps=1_000.0,
                endpoints=(Endpoint(address="127.0.0.1", port=port),),
            ),
        ),
    )
    return Fleet(
        datacenters=(Datacenter(name="dc-east", role=Role.PRIMARY, region="east"),),
        services=(service,),
        gateways=(GatewayGroup(name=GROUP),),
        routes=(Route(id="site", service="site"),),
    )


@contextlib.asynccontextmanager
async def rule_of(kind: str, policy: SessionQueuePolicy, redis: str) -> AsyncIterator[Rule]:
    """What the proxy asks about each request."""
    if kind == "request":
        queue = RequestQueue(policy)
        running = asyncio.create_task(queue.run())
        yield queue.rule
        running.cancel()
        return
    # A busy machine takes longer than a gateway's; being away is tried elsewhere.
    link = RedisLink(RedisOptions(url=redis, deadline_s=1.0))
    around = Surroundings(state=in_redis(link), now_s=time.time, agent="agent", group=GROUP)
    pipeline = Pipeline(MAKERS, around, CountsAndLines(CollectorRegistry()))
    await pipeline.take([Policy(name=QUEUE, session_queue=policy)])
    yield pipeline.rule
    await pipeline.close()
    await link.close()


async def serve(kind: str, site_port: int, redis: str, policy: SessionQueuePolicy) -> None:
    """Proxy on a free port of loopback until the process is killed; the port is printed."""
    with tempfile.TemporaryDirectory() as folder:
        # Nobody is polled: what it serves is given to it.
        nobody = Path(folder) / "token"
        options = ClientOptions(
            urls=("http://127.0.0.1:9",),
            token_file=nobody,
            name="agent",
            group=GROUP,
            folder=Path(folder),
        )
        session = Session(options)
        built = fleet_snapshot.build(fleet(site_port), {"site": {"dc-east": 1.0}})
        body = snapshot.encode(built)
        session.directory.configure(configuration(body, "", 1, GROUP))
        async with rule_of(kind, policy, redis) as rule:
            proxy = Proxy(session, rule, ProxyOptions(most_connections=10_000))
            print(await proxy.start("127.0.0.1", 0), flush=True)
            await asyncio.Event().wait()


def run() -> None:
    """Serve as the command line says: KIND SITE_PORT REDIS POLICY, the last one as JSON."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    kind, port, redis, declared = sys.argv[1:]
    policy = SessionQueuePolicy(**json.loads(declared))
    uvloop.run(serve(kind, int(port), redis, policy))
