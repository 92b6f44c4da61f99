"""Turn the errors of the driver and of SQLAlchemy into `Retryable`, in this one place.

Used around every transaction by `database`. Errors that are no outage (a broken constraint, a
statement that cannot be right) pass through: the stores answer them or they are bugs.
"""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from sqlalchemy import exc

from controlplane.domain.errors import Retryable
from controlplane.ports.stores import FILES_GONE, STORE_LOCKED, STORE_SLOW


class Reason(StrEnum):
    """Why the database cannot be used, in the details of `store_unavailable`."""

    LOCKED = STORE_LOCKED
    READ_ONLY = "read_only"
    FULL = "full"
    IO_ERROR = "io_error"
    CANNOT_OPEN = "cannot_open"
    DAMAGED = "damaged"
    FILE_GONE = FILES_GONE
    FILE_REPLACED = "file_replaced"
    DEADLINE = STORE_SLOW
    CLOSED = "closed"
    AWAY = "away"


ADVICE: dict[Reason, str] = {
    Reason.LOCKED: "another process holds its lock; find it with `fuser` on the file",
    Reason.READ_ONLY: "it is read-only; check the mount and the file's owner",
    Reason.FULL: "its disk is full; free some space",
    Reason.IO_ERROR: "its disk reports an error; check the system log",
    Reason.CANNOT_OPEN: "it cannot be opened; check that the path exists and its owner",
    Reason.DAMAGED: "its content is damaged; restore it from a copy",
    Reason.FILE_GONE: "its file was deleted or moved; put it back, or wait a few seconds until "
    "all data is written to its path again",
    Reason.FILE_REPLACED: "its file was replaced by another; put the original file back, or "
    "delete the other one, then all data is written to its path again",
    Reason.DEADLINE: "it did not answer within the deadline; check load and disk",
    Reason.CLOSED: "the service is stopping",
    Reason.AWAY: "it does not answer; check that it runs",
}

# Beginnings of SQLite's result codes, which carry their extended part at the end.
_SQLITE_REASONS = (
    ("SQLITE_BUSY", Reason.LOCKED),
    ("SQLITE_LOCKED", Reason.LOCKED),
    ("SQLITE_READONLY", Reason.READ_ONLY),
    ("SQLITE_PERM", Reason.READ_ONLY),
    ("SQLITE_FULL", Reason.FULL),
    ("SQLITE_IOERR", Reason.IO_ERROR),
    ("SQLITE_CANTOPEN", Reason.CANNOT_OPEN),
    ("SQLITE_CORRUPT", Reason.DAMAGED),
    ("SQLITE_NOTADB", Reason.DAMAGED),
)

# Codes that say what failed and not why.
_UNCLEAR = {Reason.IO_ERROR, Reason.CANNOT_OPEN}

_SYSTEM_REASONS = {
    errno.ENOSPC: Reason.FULL,
    errno.EDQUOT: Reason.FULL,
    errno.EROFS: Reason.READ_ONLY,
    errno.EIO: Reason.IO_ERROR,
}


def unavailable(reason: Reason, cause: str = "") -> Retryable:
    """The one error of a database that is away; `cause` is the driver's text."""
    said = f" ({cause})" if cause else ""
    return Retryable(
        "store_unavailable",
        f"the database cannot be used: {ADVICE[reason]}{said}. Reads from memory, streams and "
        "data planes go on; repeat the call",
        {"reason": reason.value},
    )


@contextmanager
def translated(folder: Path | None = None) -> Iterator[None]:
    """Raise `unavailable` in place of an outage's error, chained to it.

    Args:
        folder: where the database is; an error of its disk is asked there what it comes from.
    """
    try:
        yield
    except exc.TimeoutError as error:
        raise unavailable(Reason.DEADLINE, "no connection became free") from error
    except (exc.DBAPIError, sqlite3.Error, OSError) as error:
        reason = _reason(error)
        if reason is None:
            raise
        if reason in _UNCLEAR and folder is not None:
            reason = _of_file_system(folder) or reason
        raise unavailable(reason, _words(error)) from error


def _of_file_system(folder: Path) -> Reason | None:
    """What the file system says; SQLite's own code for it is often no more than `I/O error`."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY:
        return Reason.READ_ONLY
    return Reason.FULL if found.f_bavail == 0 else None


def _reason(error: Exception) -> Reason | None:
    if isinstance(error, OSError):
        return _SYSTEM_REASONS.get(error.errno or 0, Reason.CANNOT_OPEN)
    origin = error.orig if isinstance(error, exc.DBAPIError) else error
    name = getattr(origin, "sqlite_errorname", "")
    for beginning, reason in _SQLITE_REASONS:
        if name.startswith(beginning):
            return reason
    # Without a code of SQLite's: a lost connection, or another database's words for one.
    outage = (exc.OperationalError, exc.InterfaceError, sqlite3.OperationalError)
    return Reason.AWAY if isinstance(error, outage) else None


def _words(error: Exception) -> str:
    origin = error.orig if isinstance(error, exc.DBAPIError) else error
    return str(origin)
