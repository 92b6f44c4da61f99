"""A local data centre as a process of its own: `python -m controlplane.demo.datacenter LAYOUT
NAME`.

Started by the demo. Serves every lane of the layout with a pool of limited workers behind several
endpoints, bears a batch load that shifts, and tells its counters on an admin port (`GET /stats`).
Never talks to the control plane.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import shutil
import signal
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import uvloop

from controlplane.demo.background import BackgroundJob
from controlplane.demo.exchange import Exchange, LaneService, lane_service
from controlplane.demo.layout import HOST, Layout, read_layout
from controlplane.demo.pool import SLICE_S, Job, WorkerPool

BACKLOG = 256
_STATS_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCounters:
    """Cumulative counters of one lane; `slices` are the latest busy shares, the last of them number
    `slice_count`.
    """

    requests: int
    errors: int
    inflight: int
    ingress_bytes: int
    response_time_s: float
    busy_worker_s: float
    workers: int
    slice_count: int
    slices: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatacenterStats:
    """What `GET /stats` answers; `at_s` is the monotonic instant of the reading, shares are
    0..1.
    """

    datacenter: str
    at_s: float
    memory: float
    disk: float
    lanes: dict[str, LaneCounters]


class Site:
    """The pools of one data centre, its batch load and its listeners."""

    def __init__(self, layout: Layout, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._layout = layout
        self._centre = layout.datacenter(name)
        self._loop = loop
        demands_s = layout.demand.table_s()
        self._services: dict[str, LaneService] = {}
        for lane in layout.lanes:
            pool = WorkerPool(self._centre.workers, self._centre.queue_limit, loop)
            self._services[lane.name] = lane_service(pool, demands_s, name, lane.name)

    async def listen(self) -> None:
        """Open every endpoint and, last, the admin port: when that answers, the site is ready."""
        name = self._centre.name
        for lane, service in self._services.items():
            connect = partial(Exchange, service)
            for port in self._layout.endpoint_ports(name, lane):
                await self._loop.create_server(connect, HOST, port, backlog=BACKLOG)
        await asyncio.start_server(self._answer_stats, HOST, self._layout.admin_port(name))

    async def bear_background(self) -> None:
        """Give each batch job to every lane at its instant."""
        offset_s = self._loop.time() - (time.time() - self._layout.epoch_s)
        for job in self._centre.background.jobs(
            self._centre.workers, max(0.0, time.time() - self._layout.epoch_s)
        ):
            await asyncio.sleep(offset_s + job.at_s - self._loop.time())
            self._start_everywhere(job)

    async def close_slices(self) -> None:
        """Keep the busy share of every slice for the highest CPU of a period."""
        due_s = self._loop.time()
        while True:
            due_s += SLICE_S
            await asyncio.sleep(due_s - self._loop.time())
            for service in self._services.values():
                service.pool.close_slice()

    def stats(self) -> DatacenterStats:
        """Read all counters."""
        usage = shutil.disk_usage("/")
        return DatacenterStats(
            datacenter=self._centre.name,
            at_s=time.monotonic(),
            memory=_memory_share(),
            disk=usage.used / usage.total,
            lanes={name: _read(service.pool) for name, service in self._services.items()},
        )

    def _start_everywhere(self, job: BackgroundJob) -> None:
        for service in self._services.values():
            service.pool.submit(Job(duration_s=job.duration_s))

    async def _answer_stats(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /stats"):
                body = json.dumps(asdict(self.stats())).encode()
                writer.write(_STATS_HEAD % len(body) + body)
                await writer.drain()
        writer.close()


def _read(pool: WorkerPool) -> LaneCounters:
    counters = pool.counters
    return LaneCounters(
        requests=counters.requests,
        errors=counters.errors,
        inflight=counters.inflight,
        ingress_bytes=counters.ingress_bytes,
        response_time_s=counters.response_time_s,
        busy_worker_s=pool.busy_worker_s(),
        workers=pool.workers,
        slice_count=pool.slice_count,
        slices=list(pool.slices),
    )


def _memory_share() -> float:
    """Share of the machine's memory that is in use, 0..1; 0 where the kernel does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0.0
    values = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return 1.0 - values["MemAvailable"] / values["MemTotal"]


async def _serve(layout: Layout, name: str) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    site = Site(layout, name, loop)
    await site.listen()
    # What lives for the whole run need not be looked at again: collections would show as slow
    # requests.
    gc.collect()
    gc.freeze()
    tasks = [asyncio.create_task(site.bear_background()), asyncio.create_task(site.close_slices())]
    await stop.wait()
    for task in tasks:
        task.cancel()


def main() -> None:
    """Serve one data centre until SIGTERM."""
    parser = argparse.ArgumentParser(description="One local data centre of the Signalbox demo.")
    parser.add_argument("layout", type=Path, help="layout file written by the demo")
    parser.add_argument("name", help="name of the data centre in the layout")
    arguments = parser.parse_args()
    uvloop.run(_serve(read_layout(arguments.layout), arguments.name))


if __name__ == "__main__":
    main()
