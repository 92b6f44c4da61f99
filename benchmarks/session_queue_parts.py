"""The processes of the session queue's benchmark: a Redis, the site, and two agents in front."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.free_ports import free_ports
from benchmarks.live_agent import leave, live_agent
from benchmarks.live_envoy import Child
from benchmarks.session_queue_agent import body
from benchmarks.session_queue_load import Played, User
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from gateway.application.last_good import LastGood

START_DEADLINE_S = 30.0
TRIES = 200
QUEUE = "enrolment"
# The paper's own times, which are all multiplied by one scale.
UPDATE_S = 5.0
SERVICE_S = 0.5
# Response time at the load that the site does most at: (n / KNEE) ** 1.5 is 2 there.
TARGET_OF_SERVICE = 3.0
INITIAL_SIZE = 2
# Sessions begun and not ended that cost the site as much again as a request alone; infinity: a
# session that waits between two requests costs nothing.
ROOM, STATELESS = 2_000.0, float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What runs: ports of the site and of an agent of each kind in front of it."""

    site: int
    session: int
    request: int
    redis: str
    scale: float


def policy(scale: float) -> SessionQueuePolicy:
    """The policy of the experiment; users end their sessions, so that other times do not matter."""
    return SessionQueuePolicy(
        target_ms=SERVICE_S * TARGET_OF_SERVICE * scale * 1_000.0,
        initial_size=INITIAL_SIZE,
        period_s=UPDATE_S * scale,
        hold_s=60.0,
        finish_paths=("/done",),
    )


@contextlib.asynccontextmanager
async def running(scale: float, room: float, folder: Path) -> AsyncIterator[Running]:
    """A Redis, the site, and the two agents in front of it."""
    declared = json.dumps(asdict(policy(scale)))
    async with contextlib.AsyncExitStack() as stack:
        redis = await stack.enter_async_context(_redis_server(folder))
        site = await stack.enter_async_context(
            _child("session_queue_site", (str(SERVICE_S * scale), str(room)))
        )
        request = await stack.enter_async_context(
            _child("session_queue_agent", (str(site), declared))
        )
        leave_site(folder, site, policy(scale))
        (session,) = free_ports(1)
        # A busy machine takes longer than a gateway's; that Redis is away is tried elsewhere.
        options = ("--redis", redis, "--redis-deadline-ms", "1000")
        proxy = f"127.0.0.1:{session}"
        # Its start waits for the process, and nothing else happens meanwhile.
        stack.enter_context(live_agent(folder, "--proxy", proxy, *options))
        yield Running(site=site, session=session, request=request, redis=redis, scale=scale)


def leave_site(folder: Path, port: int, queue: SessionQueuePolicy) -> None:
    """What an agent goes by: the site behind its own proxy, and the queue in front of it."""
    leave(folder, [Policy(name=QUEUE, session_queue=queue)])
    LastGood(folder).store(body(port), '"left"', 1)


async def calm(parts: Running) -> None:
    """Begin anew: an empty line, and pools of their initial size."""
    port = int(parts.redis.rpartition(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"FLUSHALL\r\n")
    await reader.readline()
    writer.close()
    await tell_site(parts.site, "/log")
    await asyncio.sleep(2 * UPDATE_S * parts.scale)


async def tell_site(port: int, path: str) -> bytes:
    """Ask the site itself."""
    user = User(port, Played())
    try:
        _, body = await user.ask(path, "control")
        return body
    finally:
        user.close()


@contextlib.asynccontextmanager
async def _redis_server(folder: Path) -> AsyncIterator[str]:
    """A Redis with nothing on disk; its address."""
    (port,) = free_ports(1)
    options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
    process = await asyncio.create_subprocess_exec(
        "redis-server", *options, stdout=asyncio.subprocess.DEVNULL
    )
    child = Child(process=process)
    try:
        for _ in range(TRIES):
            if await _listens(port):
                break
            await asyncio.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        await child.kill()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@contextlib.asynccontextmanager
async def _child(module: str, arguments: Sequence[str]) -> AsyncIterator[int]:
    """A process of ours that prints its port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"from benchmarks.{module} import run; run()",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    child = Child(process=process)
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), START_DEADLINE_S)
        yield int(line)
    finally:
        await child.kill()
