"""Keeps the group's route table beside the agent's other files.

Run by `agent`. The table is kept as it came, after it was read once: what cannot be read never
takes the place of what can.
"""

import asyncio
from pathlib import Path

import structlog

from gateway.last_good.polling import Fetched, Poller, Source
from gateway.last_good.route_file import RouteFile

log = structlog.get_logger()


class RouteKeeper:
    """One table on disk."""

    def __init__(self, source: Source, folder: Path) -> None:
        self._file = RouteFile(folder)
        self._poller = Poller(source, self._take)

    async def load(self) -> None:
        """Ask for what is newer than what an earlier run left."""
        self._poller.tag = await asyncio.to_thread(self._file.tag)

    async def run(self) -> None:
        """Keep the newest table until cancelled."""
        await self._poller.run()

    async def _take(self, new: Fetched) -> None:
        try:
            await asyncio.to_thread(self._file.store, new)
        except OSError as error:
            log.error("routes.not_stored", why=str(error))  # noqa: TRY400
            return
        log.info("routes.stored", revision=new.revision)
