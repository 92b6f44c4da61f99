"""What stands at a listener under load: its back ends in three data centres, and who uses them.

Used by `benchmarks.failover` for ours and for the comparisons. Each service has a process for each
data centre, with an endpoint on each of its ports. Everything runs on loopback.
"""

import asyncio
import contextlib
import multiprocessing
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import httpx

from benchmarks.failover_backend import Behavior, run
from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import stats

SERVICES = ("tickets", "orders")
# The larger side first; it is the one that fails.
ENDPOINTS = {"east": 5, "west": 3, "north": 3}
SHARES = {2: {"east": 0.6, "west": 0.4}, 3: {"east": 0.5, "west": 0.25, "north": 0.25}}
LARGER = "east"
DEADLINE_S = 120.0

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["benchmarks.failover_backend"])

Place = tuple[str, str]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds; who gives no answer for want of a processor is asked again."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if await holds():
                    return
            await asyncio.sleep(0.05)


@dataclass(slots=True, kw_only=True)
class Back:
    """The process of one service in one data centre, started again after it was killed.

    It is forked from a process that has everything loaded: a new interpreter would take the
    processor from those that are measured.
    """

    center: str
    ports: Sequence[int]
    _process: BaseProcess | None = None
    _orders: Connection | None = None

    async def start(self) -> None:
        """Start it and wait until it listens."""
        self._orders, theirs = FORKS.Pipe()
        process = FORKS.Process(target=run, args=(self.center, list(self.ports), theirs))
        await asyncio.to_thread(process.start)
        self._process = process
        theirs.close()
        await self.told()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def tell(self, behavior: Behavior) -> None:
        """Have it behave like this; it does at once, though it says so later."""
        assert self._orders is not None
        self._orders.send(behavior.value)

    async def told(self) -> None:
        """Wait until it does."""
        assert self._orders is not None
        await asyncio.wait_for(asyncio.to_thread(self._orders.recv), DEADLINE_S)

    async def revive(self) -> None:
        """Start it again when it has ended."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.join)


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """An Envoy's listener and admin port, and the back ends behind it."""

    listener: int
    admin: int
    backs: dict[Place, Back]

    def at(self, center: str, services: Sequence[str]) -> list[Back]:
        """The processes of some services in a data centre."""
        return [self.backs[service, center] for service in services]

    def ports(self) -> dict[Place, Sequence[int]]:
        """Of all endpoints."""
        return {place: back.ports for place, back in self.backs.items()}

    async def well(self, count: int) -> None:
        """Wait until every endpoint of the first so many data centres is in use."""
        wanted = sum(list(ENDPOINTS.values())[:count])

        async def is_well() -> bool:
            return await self.healthy() == dict.fromkeys(SERVICES, wanted)

        await until(is_well)

    async def healthy(self) -> dict[str, int]:
        """Endpoints of each service that this Envoy uses."""
        found = await stats(self.admin, r"^cluster\.(tickets|orders)\.membership_healthy$")
        return {name.split(".")[1]: value for name, value in found.items()}


@contextlib.asynccontextmanager
async def front() -> AsyncIterator[Front]:
    """Back ends that listen, and free ports for the Envoy before them."""
    listener, admin, *rest = free_ports(2 + len(SERVICES) * sum(ENDPOINTS.values()))
    left = iter(rest)
    backs = {
        (service, center): Back(center=center, ports=[next(left) for _ in range(count)])
        for service in SERVICES
        for center, count in ENDPOINTS.items()
    }
    async with contextlib.AsyncExitStack() as stack:
        for back in backs.values():
            stack.push_async_callback(back.stop)
        await asyncio.gather(*(back.start() for back in backs.values()))
        yield Front(listener=listener, admin=admin, backs=backs)
