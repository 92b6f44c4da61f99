"""The time endpoint on one core, beside nginx that returns a constant: wrk on the other core.

Used by `benchmarks.flash_sale`.
"""

import asyncio
import contextlib
import os
import shutil
import statistics
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.free_ports import free_ports
from benchmarks.wrk import Load, Wrk, prepared

CONNECTIONS = 64
OURS = """
import asyncio, uvloop
from gateway import clock
from gateway.direct_http import DirectServer
async def main():
    server = DirectServer(clock.answer)
    await server.start("127.0.0.1", {port})
    print("ready", flush=True)
    await asyncio.Event().wait()
uvloop.run(main())
"""
NGINX = """
daemon off; worker_processes 1; worker_cpu_affinity 1; error_log stderr; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{{"now_ms":1700000000123}}'; }} }}
}}
"""


async def clock_rates(folder: Path, seconds: int, rounds: int) -> dict[str, float]:
    """Requests per second of both, medians over rounds that alternate."""
    ours, theirs = free_ports(2)
    wrk = prepared(folder, ["/time"])
    found: dict[int, list[float]] = {ours: [], theirs: []}
    per_core = []
    async with _ours(ours) as pid, _nginx(folder, theirs):
        for _ in range(rounds):
            before_s = _processor_s(pid)
            load = await asyncio.to_thread(_load, wrk, ours, seconds)
            per_core.append(load.requests / (_processor_s(pid) - before_s))
            found[ours].append(load.rps)
            found[theirs].append((await asyncio.to_thread(_load, wrk, theirs, seconds)).rps)
    rates = {port: statistics.median(each) for port, each in found.items()}
    return {
        "time_rps": rates[ours],
        "time_per_core_second": statistics.median(per_core),
        "nginx_return_rps": rates[theirs],
        "time_to_nginx_ratio": rates[ours] / rates[theirs],
    }


def _processor_s(pid: int) -> float:
    """Processor time of a process so far, in its own code and in the system's."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _load(wrk: Wrk, port: int, seconds: int) -> Load:
    # The child takes its mask from this thread: servers have the first processor for themselves.
    usual = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {max(usual)})
    try:
        load = wrk.run(port, CONNECTIONS, seconds)
    finally:
        os.sched_setaffinity(0, usual)
    if load.failed:
        raise RuntimeError(f"{load.failed} of {load.requests} requests failed")
    return load


@contextlib.asynccontextmanager
async def _ours(port: int) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OURS.format(port=port), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        yield process.pid
    finally:
        process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def _nginx(folder: Path, port: int) -> AsyncIterator[None]:
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    config = folder / "clock.conf"
    config.write_text(NGINX.format(folder=folder, port=port))
    with (folder / "clock-nginx.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            binary, "-c", str(config), "-p", str(folder), stdout=log, stderr=log
        )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await process.wait()
