"""The load generator as a process of its own: `python -m controlplane.demo.load LAYOUT`.

Started by the demo. Open loop: sends every arrival of the trace to every lane at the same instant
with the same number, and never waits for an answer. Takes commands as JSON lines on standard input
(`phase`, `trim`, `outage`, `stop`) and tells what it measured as JSON lines on standard output.
Ends when its standard input does.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvloop

from controlplane.demo.client import Client, Outcome, Request
from controlplane.demo.layout import HOST, Layout, read_layout
from controlplane.demo.tally import LaneTally, Tally
from controlplane.demo.trace import arrivals, read_trace

CONNECTIONS = 64
SWEEP_S = 0.05
USER_COOKIE = "signalbox_sid"
"""The sticky cookie of our Envoy configuration. Every arrival is a user of its own, and the same
user in every lane: without the cookie Envoy would hash a request id that it draws itself.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of load: `rate_rps` is the mean per lane; `start` is its first minute of the
    trace.
    """

    name: str
    rate_rps: float
    periods: int
    start: int = 0
    period_s: float = 1.0
    lanes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a request is late, and when it is given up, in seconds."""

    late_s: float
    timeout_s: float


class Generator:
    """Runs the phases in the order in which they were asked for."""

    def __init__(self, layout: Layout, limits: Limits, seed: int) -> None:
        self._lanes = [lane.name for lane in layout.lanes]
        self._limits = limits
        self._seed = seed
        self._trace = read_trace()
        self._client = Client(HOST, layout.envoy_port, self._ended)
        self._tally = Tally(len(self._lanes), limits.late_s)
        self._loop = asyncio.get_running_loop()
        self._phases: asyncio.Queue[Phase | None] = asyncio.Queue()
        self._open: deque[Request] = deque()
        self._sent = [0] * len(self._lanes)
        self._arrival = 0
        self._phase = 0
        self._trim = 1.0
        self._outstanding: Counter[int] = Counter()
        self._closing: dict[int, str] = {}
        self._settled = asyncio.Event()
        self._settled.set()
        # The two clocks differ by a constant: the demo speaks of wall-clock instants, the loop of
        # monotonic ones.
        self._wall_offset_s = time.time() - self._loop.time()

    async def run(self) -> None:
        """Send until told to stop, then report every lane."""
        await self._client.warm(CONNECTIONS)
        _tell({"type": "ready", "at_s": time.time()})
        gc.collect()
        gc.freeze()
        sweep = asyncio.create_task(self._sweep())
        while (phase := await self._phases.get()) is not None:
            self._phase += 1
            number = self._phase
            await self._replay(phase, number)
            self._closing[number] = phase.name
            self._settled.clear()
            self._settle(number)
        await self._settled.wait()
        sweep.cancel()
        self._client.close()
        _tell({"type": "stopped", "sent": dict(zip(self._lanes, self._sent, strict=True))})

    def command(self, line: str) -> None:
        """Take one command; what is not understood is told back and changes nothing."""
        try:
            asked = json.loads(line)
            match asked["cmd"]:
                case "phase":
                    self._phases.put_nowait(_phase(asked, self._lanes))
                case "trim":
                    self._trim = min(1.25, max(0.75, float(asked["factor"])))
                case "outage":
                    self._tell_outage(float(asked["since_s"]), asked.get("lane"))
                case "stop":
                    self._phases.put_nowait(None)
                case other:
                    raise ValueError(f"no command {other!r}; there are phase, trim, outage, stop")
        except (ValueError, KeyError, TypeError) as error:
            _tell({"type": "error", "line": line.strip(), "error": repr(error)})

    async def _replay(self, phase: Phase, number: int) -> None:
        draw = random.Random(self._seed * 7919 + number)
        chosen = [k for k, name in enumerate(self._lanes) if not phase.lanes or name in phase.lanes]
        begin_s = self._loop.time() + 0.02
        for period, relative in enumerate(self._trace.shape(phase.start, phase.periods)):
            expected = phase.rate_rps * phase.period_s * relative * self._trim
            start_s = begin_s + period * phase.period_s
            for offset_s in arrivals(expected, phase.period_s, draw):
                due_s = start_s + offset_s
                if (wait_s := due_s - self._loop.time()) > 0:
                    await asyncio.sleep(wait_s)
                self._send_everywhere(chosen, number, due_s)
            await asyncio.sleep(max(0.0, start_s + phase.period_s - self._loop.time()))
            self._report("period", phase.name, self._tally.next_period(), period)

    def _send_everywhere(self, chosen: list[int], phase: int, due_s: float) -> None:
        number = self._arrival
        self._arrival += 1
        turn = number % len(chosen)  # no lane is always the first to be written
        for lane in chosen[turn:] + chosen[:turn]:
            head = f"GET /{self._lanes[lane]} HTTP/1.1\r\nhost: demo.local\r\n"
            user = f"cookie: {USER_COOKIE}=demo-{self._seed}-{number}\r\n"
            wire = f"{head}{user}x-arrival: {number}\r\n\r\n".encode()
            request = Request(lane=lane, phase=phase, sent_s=due_s, wire=wire)
            self._sent[lane] += 1
            self._outstanding[phase] += 1
            self._open.append(request)
            self._client.send(request)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            oldest_s = self._loop.time() - self._limits.timeout_s
            while self._open and (self._open[0].ended or self._open[0].sent_s < oldest_s):
                self._client.expire(self._open.popleft())

    def _ended(self, outcome: Outcome) -> None:
        self._tally.add(outcome)
        self._outstanding[outcome.phase] -= 1
        self._settle(outcome.phase)

    def _settle(self, phase: int) -> None:
        """Report a phase once nothing of it is on its way; the next one may run already."""
        if phase in self._closing and not self._outstanding[phase]:
            self._report("phase", self._closing.pop(phase), self._tally.phase(phase))
            if not self._closing:
                self._settled.set()

    def _report(
        self, kind: str, phase: str, lanes: list[LaneTally], period: int | None = None
    ) -> None:
        told = {name: _figures(tally) for name, tally in zip(self._lanes, lanes, strict=True)}
        _tell({"type": kind, "phase": phase, "period": period, "at_s": time.time(), "lanes": told})

    def _tell_outage(self, since_wall_s: float, lane: str | None) -> None:
        index = None if lane is None else self._lanes.index(lane)
        outage = self._tally.outage(since_wall_s - self._wall_offset_s, index)
        told = asdict(outage)
        _tell({"type": "outage", "since_s": since_wall_s, "lane": lane, **told})


def _phase(asked: Mapping[str, Any], lanes: list[str]) -> Phase:
    fields = {name: value for name, value in asked.items() if name != "cmd"}
    phase = Phase(**{**fields, "lanes": tuple(fields.get("lanes", ()))})
    if unknown := set(phase.lanes) - set(lanes):
        raise ValueError(f"no lanes {sorted(unknown)}; there are {lanes}")
    if phase.periods < 1 or phase.rate_rps <= 0 or phase.period_s <= 0:
        raise ValueError("a phase needs periods >= 1, rate_rps > 0 and period_s > 0")
    return phase


def _figures(tally: LaneTally) -> dict[str, object]:
    times = tally.latencies
    return {
        "ok": tally.ok,
        "failed": tally.failed,
        "late": tally.late,
        "failures": dict(sorted(tally.failures.items())),
        "mean_ms": _ms(times.mean_s()),
        "p50_ms": _ms(times.quantile_s(0.50)),
        "p99_ms": _ms(times.quantile_s(0.99)),
        "datacenters": dict(sorted(tally.datacenters.items())),
    }


def _ms(value_s: float | None) -> float | None:
    return None if value_s is None else round(value_s * 1000.0, 3)


def _tell(message: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def _main(layout: Layout, limits: Limits, seed: int) -> None:
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    generator = Generator(layout, limits, seed)
    run = asyncio.create_task(generator.run())
    while not run.done():
        read = asyncio.create_task(commands.readline())
        await asyncio.wait({run, read}, return_when=asyncio.FIRST_COMPLETED)
        if run.done() or not (line := (await read).decode()):
            read.cancel()
            break
        generator.command(line)
    if not run.done():
        run.cancel()  # the demo is gone
        return
    await run


def main() -> None:
    """Generate load until told to stop or until standard input ends."""
    parser = argparse.ArgumentParser(description="Load generator of the Signalbox demo.")
    parser.add_argument("layout", type=Path, help="layout file written by the demo")
    parser.add_argument(
        "--late-s", type=float, default=1.0, help="a slower answer counts as late (default 1.0)"
    )
    parser.add_argument(
        "--timeout-s", type=float, default=5.0, help="a request is given up after it (default 5.0)"
    )
    parser.add_argument(
        "--seed", type=int, default=98, help="seed of the arrival instants (default 98)"
    )
    arguments = parser.parse_args()
    limits = Limits(late_s=arguments.late_s, timeout_s=arguments.timeout_s)
    uvloop.run(_main(read_layout(arguments.layout), limits, arguments.seed))


if __name__ == "__main__":
    main()
