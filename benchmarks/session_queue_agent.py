"""The comparison of the session queue's benchmark: a queue of requests.

Started by `session_queue_parts` as a child of its own. The agent's reverse proxy, the same law for
the size of the pool and the same site; but what waits in order of arrival is each request.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

import uvloop

from controlplane.domain import fleet_snapshot, snapshot
from controlplane.domain.admission.asking import ADMITTED, Asked
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
from gateway.application.last_good import configuration
from gateway.application.options import ClientOptions
from gateway.application.session import Session
from gateway.proxy.options import ProxyOptions
from gateway.proxy.proxy import Proxy

GROUP = "edge"
TIMEOUT_MS = 120_000


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
            await self._turn(turn)
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

    async def _turn(self, turn: asyncio.Future[None]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was his turn, and he has gone.
                self._inside -= 1
                self._fill()
            raise

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


def body(port: int) -> bytes:
    """The configuration of a gateway in front of a site."""
    return snapshot.encode(fleet_snapshot.build(fleet(port), {"site": {"dc-east": 1.0}}))


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


async def serve(site_port: int, policy: SessionQueuePolicy) -> None:
    """Proxy on a free port of loopback until the process is killed; the port is printed."""
    with tempfile.TemporaryDirectory() as folder:
        # Nobody is polled: what it serves is given to it.
        options = ClientOptions(
            urls=("http://127.0.0.1:9",),
            token_file=Path(folder) / "token",
            name="agent",
            group=GROUP,
            folder=Path(folder),
        )
        session = Session(options)
        session.directory.configure(configuration(body(site_port), "", 1, GROUP))
        queue = RequestQueue(policy)
        proxy = Proxy(session, queue.rule, ProxyOptions(most_connections=10_000))
        print(await proxy.start("127.0.0.1", 0), flush=True)
        await queue.run()


def run() -> None:
    """Serve as the command line says: SITE_PORT POLICY, the last one as JSON."""
    port, declared = sys.argv[1:]
    uvloop.run(serve(int(port), SessionQueuePolicy(**json.loads(declared))))
