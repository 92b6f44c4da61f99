"""Probes of doubtful instances, with the service's own health check.

A client does not check the healthy: their requests do. One that failed, and its neighbours, are
asked at each interval until they are trusted again, so that a dead cluster is known after two
probes, however few requests there are.
"""

import asyncio
import contextlib
import time

from controlplane.domain.health.ejection import Event
from controlplane.domain.services import CheckKind
from gateway.application.directory import Directory, Doubt

MOST_AT_ONCE = 64
# As gateways have it.
OK = 200


class Prober:
    """One task for each doubtful instance, owned by the client's task group."""

    def __init__(self, directory: Directory, tasks: asyncio.TaskGroup) -> None:
        self._directory = directory
        self._tasks = tasks
        self._running: set[tuple[str, str]] = set()
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    def wake(self) -> None:
        """Probe everybody who must be and is not yet."""
        for doubt in self._directory.doubts():
            who = (doubt.service, doubt.instance.name)
            if who not in self._running:
                self._running.add(who)
                self._tasks.create_task(self._until_trusted(doubt, who))

    async def _until_trusted(self, doubt: Doubt, who: tuple[str, str]) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                started_s = loop.time()
                async with self._places:
                    event = await _probe(doubt)
                left = self._directory.probed(doubt, event, time.monotonic())
                if left is None:
                    return
                doubt = left
                # From start to start, as gateways do it.
                await asyncio.sleep(started_s + doubt.check.interval_ms / 1_000 - loop.time())
        finally:
            self._running.discard(who)


async def _probe(doubt: Doubt) -> Event:
    # A library's client would take longer to make than a probe takes.
    instance, check = doubt.instance, doubt.check
    with contextlib.suppress(OSError, TimeoutError, ValueError, IndexError):
        async with asyncio.timeout(check.timeout_ms / 1_000):
            reader, writer = await asyncio.open_connection(instance.address, instance.port)
            try:
                if check.kind is not CheckKind.HTTP:
                    # A command is run by observers only: that the port is open must do here.
                    return Event.PROBE_PASSED
                head = f"GET {check.path} HTTP/1.1\r\nHost: {instance.name}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode())
                status = int((await reader.readline()).split()[1])
            finally:
                writer.close()
            return Event.PROBE_PASSED if status == OK else Event.PROBE_FAILED
    return Event.PROBE_FAILED
