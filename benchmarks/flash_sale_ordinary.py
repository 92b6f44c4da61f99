"""Ordinary traffic beside a flash sale: a small site of its own, and its visitors.

Run as processes by `benchmarks.flash_sale`. The law of the site: a page takes 20 ms (its database),
and one process serves any number at once. Visitors come 100 times a second whether or not earlier
ones were answered. Site and visitors have real-time priority where the system allows it: this is
what "capacity of its own" can be on a machine with two processors.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator

import uvloop

from gateway.direct_http import Call, DirectServer, wire

PAGE_S = 0.02
RATE = 100.0
PAGE = wire(200, b"x" * 8_000)


def own_capacity() -> bool:
    """Ask for processor time before the sale's processes; whether it was given."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        return False
    return True


async def serve() -> None:
    """The site; prints its port."""
    server = DirectServer(_page)
    print(await server.start("127.0.0.1", 0), flush=True)
    await asyncio.Event().wait()


async def _page(_call: Call) -> bytes:
    await asyncio.sleep(PAGE_S)
    return PAGE


async def visit(port: int) -> None:
    """Visitors: a line `SECONDS` on standard input starts a round; its times come back in JSON."""
    loop = asyncio.get_running_loop()
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(32)]
    print("ready", flush=True)
    while order := await asyncio.to_thread(sys.stdin.readline):
        idle: Lines = asyncio.Queue()
        for line in lines:
            idle.put_nowait(line)
        tasks = []
        began_s = loop.time()
        for number in range(int(float(order) * RATE)):
            await asyncio.sleep(began_s + number / RATE - loop.time())
            tasks.append(loop.create_task(_visited(idle)))
        print(json.dumps(await asyncio.gather(*tasks)), flush=True)


Lines = asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


async def _visited(idle: Lines) -> float:
    began_s = time.perf_counter()
    reader, writer = await idle.get()
    writer.write(b"GET / HTTP/1.1\r\nHost: site\r\n\r\n")
    await reader.readexactly(len(PAGE))
    idle.put_nowait((reader, writer))
    return (time.perf_counter() - began_s) * 1_000


class Ordinary:
    """The running site and its visitors, as `benchmarks.flash_sale` sees them."""

    def __init__(self, visitors: asyncio.subprocess.Process, *, own: bool) -> None:
        self._visitors = visitors
        self.own = own

    async def round(self, seconds: float) -> list[float]:
        """How long each visit of a round took, ms."""
        stdin, stdout = self._visitors.stdin, self._visitors.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{seconds}\n".encode())
        times: list[float] = json.loads(await stdout.readline())
        return times


@contextlib.asynccontextmanager
async def ordinary_site() -> AsyncIterator[Ordinary]:
    """Both processes, ready."""
    async with _process("serve") as (site, own):
        assert site.stdout is not None
        port = (await site.stdout.readline()).decode().strip()
        async with _process("visit", port) as (visitors, _):
            assert visitors.stdout is not None
            await visitors.stdout.readline()
            yield Ordinary(visitors, own=own)


@contextlib.asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, bool]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from benchmarks.flash_sale_ordinary import run; run()"),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        assert process.stdout is not None
        yield process, await process.stdout.readline() == b"own\n"
    finally:
        process.kill()
        await process.wait()


def run() -> None:
    """As a process of its own: `serve`, or `visit PORT`."""
    print("own" if own_capacity() else "shared", flush=True)
    uvloop.run(serve() if sys.argv[1] == "serve" else visit(int(sys.argv[2])))
