"""The last good route table of a gateway group, as the control plane serialised it.

Kept by the agent, read by `python -m gateway route`. The bytes are kept as they came.
"""

from pathlib import Path

import structlog

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import decoded
from gateway.polling import Fetched
from gateway.whole_file import read_whole, sync_folder, write_whole

MAGIC = b"signalbox-routes-1 "
FILE_NAME = "routes.table"

log = structlog.get_logger()


class RouteFile:
    """One file; every write of it is whole."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def tag(self) -> str:
        """ETag of what is kept; "" when nothing can be used."""
        if not self._path.exists():
            return ""
        try:
            body, tag = self._read()
            decoded(body)
        except Invalid as error:
            log.warning("routes.file_ignored", file=str(self._path), why=error.message)
            return ""
        return tag

    def table(self) -> Table:
        """The table.

        Raises:
            Invalid: there is none yet, or it is damaged.
        """
        body, _ = self._read()
        return decoded(body)

    def store(self, new: Fetched) -> None:
        """Keep a table that can be read.

        Raises:
            Invalid: it cannot.
            OSError: the disk is full or gone; what was there before is still whole.
        """
        decoded(new.body)
        write_whole(self._path, MAGIC, f"{new.revision} {new.tag}\n".encode() + new.body)
        sync_folder(self._path.parent)

    def _read(self) -> tuple[bytes, str]:
        try:
            head, _, body = read_whole(self._path, MAGIC).partition(b"\n")
        except OSError as error:
            raise Invalid(
                "routes_not_kept",
                f"there are no routes at {self._path} ({error.strerror}); run the agent with --api",
            ) from error
        return body, head.decode().partition(" ")[2]
