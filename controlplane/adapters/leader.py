"""Leadership by a lock on a file: one process per data directory ticks and writes.

wiring acquires it before the stores open and releases it at the end; the system releases it when
the process dies, however it dies. The file says who holds it, for people; only the lock counts.
"""

import fcntl
import json
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from controlplane.domain.errors import Conflict, Retryable


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the lock.

    Attributes:
        address: where its API answers, `http://host:port`.
        since_s: UTC epoch seconds.
    """

    pid: int
    host: str
    address: str
    since_s: float

    def __str__(self) -> str:
        """In words, for the one who is refused."""
        since = datetime.fromtimestamp(self.since_s, UTC).isoformat(timespec="seconds")
        return f"process {self.pid} on {self.host}, serving {self.address} since {since}"


class LeaderLock:
    """The lock of one data directory, held or not. Needs a file system with `flock`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, address: str, now_s: float) -> Holder:
        """Take the lock or say who has it; never waits.

        Raises:
            Conflict: `leader_elsewhere`, with the holder in the message and details.
            Retryable: `store_unavailable`, the file cannot be opened or written.
        """
        holder = Holder(pid=os.getpid(), host=socket.gethostname(), address=address, since_s=now_s)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.truncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
        except BlockingIOError as error:
            raise self._elsewhere() from error
        except OSError as error:
            raise Retryable(
                "store_unavailable",
                f"the lock {self._path} cannot be taken ({error}): check mount and owner",
                {"reason": "cannot_open"},
            ) from error
        self._descriptor = descriptor
        return holder

    def release(self) -> None:
        """Give the lock back; nothing happens when it is not held. The file stays: removing it
        would let two processes lock two files of the same name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _elsewhere(self) -> Conflict:
        holder = read_holder(self._path)
        who = "another process" if holder is None else str(holder)
        return Conflict(
            "leader_elsewhere",
            f"{self._path.parent} is in use by {who}: stop it, or give this one another data "
            "directory",
            {} if holder is None else asdict(holder),
        )


def read_holder(path: Path) -> Holder | None:
    """Who wrote the lock file last; None when it is missing or unreadable."""
    with suppress(OSError, ValueError, TypeError):
        return Holder(**json.loads(path.read_text("utf-8")))
    return None
