"""Keeps one section of the configuration in force: from disk at the start, then by long polls.

Run by `admission_agent`, once for the policies and once for the routes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from controlplane.domain.errors import Invalid
from gateway.last_good.polling import Fetched, Poller, Source
from gateway.last_good.section_file import SectionFile

log = structlog.get_logger()
Meant = TypeVar("Meant")


class SectionKeeper(Generic[Meant]):
    """One section.

    Args:
        name: for the log.
        source: where it is polled; None keeps what is on disk.
        file: where it is kept.
        take: puts it in force.
    """

    def __init__(
        self,
        name: str,
        source: Source | None,
        file: SectionFile[Meant],
        take: Callable[[Meant], Awaitable[None]],
    ) -> None:
        self._name = name
        self._file = file
        self._take = take
        self._poller = None if source is None else Poller(source, self._taken)
        # Of what is in force; None before the first.
        self.revision: int | None = None

    @property
    def current(self) -> bool:
        """The control plane has said that what is in force is the newest."""
        return self._poller is not None and self._poller.current.is_set()

    @property
    def missing(self) -> str:
        """Why the control plane has no such section, in its words; "" when it has."""
        return "" if self._poller is None else self._poller.missing

    async def load(self) -> None:
        """Put in force what an earlier run left; a damaged file is said and ignored."""
        try:
            stored = await asyncio.to_thread(self._file.read)
        except (Invalid, OSError) as error:
            log.warning("section.file_ignored", section=self._name, why=str(error))
            return
        if stored is None:
            return
        await self._take(stored.meant)
        self.revision = stored.revision
        log.info("section.from_disk", section=self._name, revision=stored.revision)
        if self._poller is not None:
            self._poller.tag = stored.tag

    async def run(self) -> None:
        """Keep it the newest until cancelled."""
        if self._poller is not None:
            await self._poller.run()

    async def _taken(self, new: Fetched) -> None:
        meant = await asyncio.to_thread(self._stored, new)
        await self._take(meant)
        self.revision = new.revision
        log.info("section.in_force", section=self._name, revision=new.revision)

    def _stored(self, new: Fetched) -> Meant:
        try:
            return self._file.store(new)
        except OSError as error:
            # A full disk must not keep a change from being in force.
            log.error("section.not_stored", section=self._name, why=str(error))  # noqa: TRY400
            return self._file.meaning(new.body)
