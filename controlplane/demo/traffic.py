"""The demo's end of the load generator: asks for phases, hears what was measured.

The generator is a process of its own (`load`); a thread reads its lines so that the event loop
never waits for a pipe.
"""

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.demo.options import PERIOD_S
from controlplane.demo.processes import Child

READY_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFigures:
    """What the generator measured in one lane; times in ms, None without an answer."""

    ok: int = 0
    failed: int = 0
    late: int = 0
    mean_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    datacenters: Mapping[str, int] = field(default_factory=dict)

    def share(self, center: str) -> float | None:
        """Share of the answers that came from one data centre, 0..1."""
        total = sum(self.datacenters.values())
        return self.datacenters.get(center, 0) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What the users saw after an instant: seconds to the last failed or late request."""

    failed: int
    late: int
    last_bad_after_s: float
    slowest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One phase of load: mean rate per lane, periods, and where in the trace it begins."""

    name: str
    rate_rps: float
    periods: int
    start: int = 0


class Traffic:
    """Drives the generator."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._phases: dict[str, asyncio.Future[dict[str, LaneFigures]]] = {}
        self._outages: asyncio.Queue[Outage] = asyncio.Queue()
        self._ready = asyncio.Event()
        self.period: dict[str, LaneFigures] = {}
        self.period_at_s = 0.0

    async def start(self) -> None:
        """Begin to listen, and wait until the generator has its connections."""
        threading.Thread(target=self._read, name="traffic", daemon=True).start()
        async with asyncio.timeout(READY_S):
            await self._ready.wait()

    async def play(self, stretch: Stretch) -> dict[str, LaneFigures]:
        """Send one phase and answer lane -> figures once its last request has ended."""
        ended: asyncio.Future[dict[str, LaneFigures]] = self._loop.create_future()
        self._phases[stretch.name] = ended
        self._say(
            cmd="phase",
            name=stretch.name,
            rate_rps=stretch.rate_rps,
            periods=stretch.periods,
            start=stretch.start,
            period_s=PERIOD_S,
        )
        return await ended

    def trim(self, factor: float) -> None:
        """Scale the rate of all lanes together from the next period on."""
        self._say(cmd="trim", factor=factor)

    async def outage(self, since_s: float) -> Outage:
        """What went wrong since a wall-clock instant, in all lanes."""
        self._say(cmd="outage", since_s=since_s)
        return await self._outages.get()

    def _say(self, **command: object) -> None:
        self._child.input.write(json.dumps(command) + "\n")
        self._child.input.flush()

    def _read(self) -> None:
        for line in self._child.output:
            self._loop.call_soon_threadsafe(self._hear, json.loads(line))

    def _hear(self, message: Mapping[str, Any]) -> None:
        match message["type"]:
            case "ready":
                self._ready.set()
            case "period":
                self.period, self.period_at_s = _lanes(message), time.time()
            case "phase":
                ended = self._phases.pop(message["phase"])
                if not ended.done():
                    ended.set_result(_lanes(message))
            case "outage":
                names = ("failed", "late", "last_bad_after_s", "slowest_s")
                self._outages.put_nowait(Outage(**{name: message[name] for name in names}))
            case "error":
                raise RuntimeError(f"the load generator refused {message['line']}")


def _lanes(message: Mapping[str, Any]) -> dict[str, LaneFigures]:
    return {name: LaneFigures(**figures) for name, figures in message["lanes"].items()}
