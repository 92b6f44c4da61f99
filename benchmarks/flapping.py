"""Targets whose checks pass and fail by turns, and an Envoy that checks them, for `health`.

No benchmark of its own. An endpoint answers each checker in its own sequence, so that both see one
probe in three fail or pass whatever the other does.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import yaml

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import envoy, ready
from controlplane.domain.services import HealthCheck

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
SICK = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
LOOK_S = 0.02
CHANCE = 1 / 3


class FlappingTargets:
    """The first `each` fail one check in three, the next pass one in three, others fail by chance.

    They pass every check until `flap` is set.
    """

    def __init__(self, ports: Sequence[int], each: int, seed: int) -> None:
        self.ports = tuple(ports)
        self.flap = False
        self._each = each
        self._rng = random.Random(seed)
        self._asked: Counter[tuple[int, str]] = Counter()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for as long as the context lasts."""
        tasks: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        servers = [await asyncio.start_server(begin, "127.0.0.1", port) for port in self.ports]
        try:
            yield
        finally:
            for server in servers:
                server.close()
            for task in tuple(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = self.ports.index(writer.get_extra_info("sockname")[1])
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                who = "envoy" if b"envoy" in request.lower() else "own"
                writer.write(OK if self._passes(place, who) else SICK)
                await writer.drain()
        writer.close()

    def _passes(self, place: int, who: str) -> bool:
        if not self.flap:
            return True
        number = self._asked[place, who]
        self._asked[place, who] += 1
        if place < self._each:
            return number % 3 != 0
        if place < 2 * self._each:
            return number % 3 == 0
        return self._rng.random() >= CHANCE


@contextlib.asynccontextmanager
async def checking_envoy(
    ports: Sequence[int], check: HealthCheck, folder: Path
) -> AsyncIterator[int]:
    """An Envoy that only checks these endpoints; its admin port."""
    (admin,) = free_ports(1)
    async with envoy(_bootstrap(ports, check, admin), folder):
        await ready(admin)
        yield admin


async def envoy_changes(admin: int, duration_s: float) -> Counter[int]:
    """Changes of health of each endpoint in Envoy's eyes, by port, looked at 50 times a second."""
    changes: Counter[int] = Counter()
    last: dict[int, bool] = {}
    end_s = time.monotonic() + duration_s
    async with httpx.AsyncClient(trust_env=False) as client:
        while time.monotonic() < end_s:
            answer = await client.get(f"http://127.0.0.1:{admin}/clusters?format=json")
            for host in answer.json()["cluster_statuses"][0]["host_statuses"]:
                port = host["address"]["socket_address"]["port_value"]
                failed = bool(host["health_status"].get("failed_active_health_check"))
                changes[port] += last.get(port, failed) != failed
                last[port] = failed
            await asyncio.sleep(LOOK_S)
    return changes


def _bootstrap(ports: Sequence[int], check: HealthCheck, admin: int) -> str:
    interval = f"{check.interval_ms / 1_000}s"
    hosts = [{"endpoint": {"address": _address(port)}} for port in ports]
    cluster = {
        "name": "flapping",
        "type": "STATIC",
        "connect_timeout": "1s",
        "health_checks": [
            {
                "timeout": f"{check.timeout_ms / 1_000}s",
                "interval": interval,
                "no_traffic_interval": interval,
                "no_traffic_healthy_interval": interval,
                "healthy_threshold": check.healthy_threshold,
                "unhealthy_threshold": check.unhealthy_threshold,
                "http_health_check": {"path": check.path},
            }
        ],
        "load_assignment": {"cluster_name": "flapping", "endpoints": [{"lb_endpoints": hosts}]},
    }
    return yaml.safe_dump(
        {
            "admin": {"address": _address(admin)},
            "static_resources": {"clusters": [cluster]},
        }
    )


def _address(port: int) -> dict[str, dict[str, str | int]]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}
