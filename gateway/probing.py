"""Probes of doubtful instances, with the service's own health check.

A client does not check the healthy: their requests do. One that failed, and its neighbours, are
asked at each interval until they are trusted again, so that a dead cluster is known after two
probes, however few requests there are.
"""

import asyncio
import contextlib
import time

import httpx

from controlplane.domain.instances.ejection import Event
from gateway.directory import Directory, Doubt

MOST_AT_ONCE = 64


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
                if not self._directory.probed(doubt, event, time.monotonic()):
                    return
                # From start to start, as gateways do it.
                await asyncio.sleep(started_s + doubt.check.interval_ms / 1_000 - loop.time())
        finally:
            self._running.discard(who)


async def _probe(doubt: Doubt) -> Event:
    timeout_s = doubt.check.timeout_ms / 1_000
    url = f"http://{doubt.instance.name}{doubt.check.path}"
    with contextlib.suppress(httpx.HTTPError, TimeoutError, OSError):
        async with asyncio.timeout(timeout_s), httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(url)
            if answer.status_code == httpx.codes.OK:
                return Event.PROBE_PASSED
    return Event.PROBE_FAILED
