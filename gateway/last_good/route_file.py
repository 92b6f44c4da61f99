"""The last good route table of a gateway group, as the control plane serialised it.

Kept by the agent, read by `python -m gateway route`. The bytes are kept as they came.
"""

from pathlib import Path

import structlog

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import decoded
from gateway.last_good.polling import Fetched
from gateway.last_good.section_file import SectionFile

MAGIC = b"signalbox-routes-1 "
FILE_NAME = "routes.table"

log = structlog.get_logger()


def route_file(folder: Path) -> SectionFile[Table]:
    """Where the table is kept."""
    return SectionFile(folder / FILE_NAME, MAGIC, decoded)


class RouteFile:
    """One file; every write of it is whole."""

    def __init__(self, folder: Path) -> None:
        self._file = route_file(folder)

    def tag(self) -> str:
        """ETag of what is kept; "" when nothing can be used."""
        try:
            stored = self._file.read()
        except (Invalid, OSError) as error:
            log.warning("routes.file_ignored", file=str(self._file.path), why=str(error))
            return ""
        return "" if stored is None else stored.tag

    def table(self) -> Table:
        """The table.

        Raises:
            Invalid: there is none yet, or it is damaged.
        """
        try:
            stored = self._file.read()
        except OSError as error:
            raise _not_kept(self._file.path, f" ({error.strerror})") from error
        if stored is None:
            raise _not_kept(self._file.path, "")
        return stored.meant

    def store(self, new: Fetched) -> None:
        """Keep a table that can be read.

        Raises:
            Invalid: it cannot.
            OSError: the disk is full or gone; what was there before is still whole.
        """
        self._file.store(new)


def _not_kept(path: Path, why: str) -> Invalid:
    return Invalid(
        "routes_not_kept", f"there are no routes at {path}{why}; run the agent with --api"
    )
