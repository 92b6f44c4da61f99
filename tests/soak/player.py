"""Plays a simulated world against a running control plane, in scaled time, closed-loop.

Each simulated minute it takes the weights in force, lets both centres bear their part, and posts
what monitoring would have seen. A minute that the sender could not send in time goes with the
next call; nothing is sent ahead.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import numpy as np

from tests.soak.server import Server
from training.simulation import site
from training.simulation.center import CenterWorld
from training.simulation.site import Readings, SiteState
from training.simulation.troubles import READINGS
from training.simulation.weather import Weather
from training.simulation.world import World

SERVICE = "tickets"
NAMES = ("dc-east", "dc-west")
WHOLE = 10_000
# Nobody listens there: all look dead, and what holds then is the split that is decided.
NOBODY = 9_000


@dataclass(slots=True)
class Seen:
    """What one simulated minute was, by the truth: ratio of the primary, and both utilisations."""

    minute: int
    ratio: float
    use: tuple[float, float]
    offered_rps: tuple[float, float]


@dataclass(slots=True)
class Player:
    """One run. `world` may be replaced while it plays: the physics changes.

    Attributes:
        minute_s: real seconds of a simulated minute.
        first_minute: of the weather, with which the run begins.
        late_minutes: minutes that were sent with a later one.
        silent: data centres that are dead, of which nothing is told.
    """

    server: Server
    world: World
    weather: Weather
    minute_s: float
    first_minute: int = 0
    ratio: float = 0.5
    minute: int = 0
    start_s: float = 0.0
    late_minutes: int = 0
    silent: set[str] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)
    state: SiteState | None = None

    @contextlib.asynccontextmanager
    async def playing(self, *also: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Play until the block ends, and do something else meanwhile."""
        self.start_s = time.time()
        async with asyncio.TaskGroup() as group:
            works = (self._play, self._follow, *also)
            tasks = [group.create_task(work()) for work in works]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def until(self, minute: float) -> None:
        """Wait for a simulated minute."""
        while self.minute < minute:
            await asyncio.sleep(self.minute_s / 4)

    async def _play(self) -> None:
        while self.first_minute + self.minute < self.weather.minutes:
            ratio = self.ratio
            await asyncio.sleep(self.start_s + (self.minute + 1) * self.minute_s - time.time())
            due = int((time.time() - self.start_s) / self.minute_s) - self.minute
            self.late_minutes += due - 1
            samples = [one for _ in range(due) for one in self._live(ratio)]
            answer = await self.server.http.post("/v1/samples", json={"samples": samples})
            answer.raise_for_status()
            assert answer.json()["accepted"] == len(samples), answer.text

    def _live(self, ratio: float) -> list[dict[str, Any]]:
        """One minute under this ratio: what both centres report at its end."""
        at = self.first_minute + self.minute
        lanes = site.gather(self.world, [self.weather])
        state = site.start(lanes) if self.state is None else self.state
        shares = np.array([[ratio, 1.0 - ratio]])
        played, self.state = site.play(lanes, state, slice(at, at + 1), shares)
        use = played.utilization[0, :, 0]
        load = float(played.requests_rps[0, 0])
        self.seen.append(
            Seen(
                minute=self.minute,
                ratio=ratio,
                use=(float(use[0]), float(use[1])),
                offered_rps=(load * ratio, load * (1 - ratio)),
            )
        )
        self.minute += 1
        end_s = self.start_s + self.minute * self.minute_s
        told = [
            _reading(name, end_s, played.seen, center)
            for center, name in enumerate(NAMES)
            if name not in self.silent
        ]
        # Who was asked nothing has no response time to tell.
        return [one for one in told if math.isfinite(one["response_time_ms"])]

    async def _follow(self) -> None:
        """Keep the ratio that is in force, by long poll as a gateway does."""
        etag = ""
        while True:
            answer = await self.server.http.get(
                "/v1/weights", params={"wait": 20}, headers={"If-None-Match": etag} if etag else {}
            )
            if answer.status_code == httpx.codes.OK:
                etag = answer.headers["ETag"]
                (weights,) = [s for s in answer.json()["weights"] if s["service"] == SERVICE]
                self.ratio = weights["weights"].get(NAMES[0], 0) / WHOLE


def slower(world: World, factor: float) -> World:
    """The world with a primary whose requests take longer: capacity divided by `factor`."""
    primary = replace(world.primary, service_ms=world.primary.service_ms * factor)
    return replace(world, centers=(primary, *world.centers[1:]))


def fleet(world: World, ports: tuple[int, int] = (NOBODY, NOBODY)) -> dict[str, object]:
    """Two centres as the world has them, one service, scheduled by the default strategy.

    Args:
        ports: of the endpoints that are checked.
    """
    centers = (world.primary, world.secondary)
    roles = ("primary", "same-city")
    return {
        "datacenters": [
            {"name": name, "role": role, "region": "north"}
            for name, role in zip(NAMES, roles, strict=True)
        ],
        "services": [
            {
                "name": SERVICE,
                "strategy": "hybrid",
                "clusters": [
                    _cluster(name, center, port)
                    for name, center, port in zip(NAMES, centers, ports, strict=True)
                ],
            }
        ],
        "gateways": [{"name": "edge", "listen_address": "127.0.0.1", "listen_port": 10_000}],
        "routes": [{"id": "all", "service": SERVICE, "path": {"value": "/"}}],
    }


def _cluster(name: str, center: CenterWorld, port: int) -> dict[str, object]:
    return {
        "datacenter": name,
        "capacity_rps": center.capacity_rps,
        "servers": center.servers,
        "idle_cpu": center.idle_cpu,
        "full_cpu": center.full_cpu,
        "endpoints": [{"address": "127.0.0.1", "port": port}],
    }


def _reading(name: str, end_s: float, seen: Readings, center: int) -> dict[str, Any]:
    values = {reading: float(getattr(seen, reading)[0, center, 0]) for reading in READINGS}
    return {"service": SERVICE, "datacenter": name, "time": end_s, **values}
