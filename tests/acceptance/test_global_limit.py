"""Issue 7, line 6: a limit that two agents keep together, with Redis, without it, and behind it."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from benchmarks.free_ports import free_port
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy, Scope
from tests import builders
from tests.kept_sections import keep_policies
from tests.servers.redis import redis_server

RATE_RPS = 100.0
ASKED_RPS = 150.0
POLICY = Policy(
    name="all", rate_limit=RateLimitPolicy(rate_rps=RATE_RPS, scope=Scope.GLOBAL, agents=2)
)
READY_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Moments at which an agent let a request on."""

    agent: int
    at_s: float


@contextlib.asynccontextmanager
async def agent(folder: Path, redis: str) -> AsyncIterator[str]:
    """An agent that goes by what is on its disk; the address that proxies ask."""
    keep_policies(replace(builders.fleet(), policies=(POLICY,)), folder)
    door, status = free_port(), free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gateway", "run", "--group", "edge"),
            *("--folder", str(folder), "--name", folder.name, "--redis", redis),
            *("--forward-auth", f"127.0.0.1:{door}", "--status", f"127.0.0.1:{status}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        async with aiohttp.ClientSession() as client, asyncio.timeout(READY_S):
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with client.get(f"http://127.0.0.1:{status}/readyz") as answer:
                        if answer.status == 200:
                            break
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{door}/envoy/seats"
    finally:
        process.terminate()
        process.wait(10)


async def asking(urls: Sequence[str], seconds: float) -> list[Admitted]:
    """Ask every agent at a steady rate, and tell which requests were let on, and when."""
    admitted: list[Admitted] = []
    begun_s = time.monotonic()

    async def one(client: aiohttp.ClientSession, number: int) -> None:
        async with client.get(urls[number]) as answer:
            await answer.read()
            if answer.status == 200:
                admitted.append(Admitted(agent=number, at_s=time.monotonic() - begun_s))

    async with aiohttp.ClientSession() as client, asyncio.TaskGroup() as tasks:
        for turn in range(round(seconds * ASKED_RPS)):
            for number in range(len(urls)):
                tasks.create_task(one(client, number))
            await asyncio.sleep(max(0.0, begun_s + (turn + 1) / ASKED_RPS - time.monotonic()))
    return admitted


def rate(admitted: Sequence[Admitted], start_s: float, end_s: float, agent: int = -1) -> float:
    """Requests per second that were let on."""
    found = [one for one in admitted if start_s <= one.at_s < end_s and agent in (-1, one.agent)]
    return len(found) / (end_s - start_s)


def busiest(admitted: Sequence[Admitted], start_s: float, end_s: float) -> int:
    """The most that were let on within any second."""
    times = sorted(one.at_s for one in admitted if start_s <= one.at_s < end_s)
    return max(sum(first <= at < first + 1.0 for at in times) for first in times)


async def test_two_agents_keep_one_limit(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """6. Global limit of 100/s over two agents within 5 %; Redis away: shares; back: no burst."""
    with redis_server(tmp_path) as redis:
        async with agent(tmp_path / "a", redis.url) as one, agent(tmp_path / "b", redis.url) as two:
            playing = asyncio.create_task(asking((one, two), 13.0))
            await asyncio.sleep(5.0)
            await asyncio.to_thread(redis.kill)
            await asyncio.sleep(4.0)
            await asyncio.to_thread(redis.start)
            admitted = await playing
    together = rate(admitted, 0.5, 5.0)
    away = [rate(admitted, 5.5, 9.0, agent=number) for number in (0, 1)]
    behind = rate(admitted, 10.0, 13.0)
    record_property("together_rps", round(together, 1))
    record_property("away_rps", [round(each, 1) for each in away])
    record_property("busiest_second_behind", busiest(admitted, 8.5, 12.0))
    record_property("behind_rps", round(behind, 1))
    assert abs(together - RATE_RPS) <= 0.05 * RATE_RPS
    assert all(each <= 1.05 * RATE_RPS / 2 for each in away)
    assert all(each >= 0.8 * RATE_RPS / 2 for each in away)
    # What the limit itself allows in a second: its rate, and a tenth as burst.
    assert busiest(admitted, 8.5, 12.0) <= 1.15 * RATE_RPS
    assert abs(behind - RATE_RPS) <= 0.05 * RATE_RPS
