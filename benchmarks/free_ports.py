"""Ports for the servers of benchmarks and tests, several of which run on one machine at a time.

A port that the kernel chose for `bind(0)` is the kernel's again once that socket is closed: it may
become the near end of anybody's connection before the server has it, or while the server restarts.
So these lie below the range that kernels choose from, and belong to one process as long as it
lives: it holds a lock on the byte of that number in a file that all processes of a user share.
"""

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

# Below them are the ports of well-known servers, above them those of the demo.
FIRST, BEHIND = 10_000, 18_000

_mine: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on and that nobody else is given while this process
    lives; OSError when so many are not left.
    """
    found: list[int] = []
    for port in random.sample(range(FIRST, BEHIND), BEHIND - FIRST):
        if len(found) == count:
            return found
        if port not in _mine and _lock(port) and _is_free(port):
            _mine.add(port)
            found.append(port)
    raise OSError(f"only {len(found)} of {count} ports are free from {FIRST} to {BEHIND - 1}")


def free_port() -> int:
    """One such port."""
    return free_ports(1)[0]


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _lock(port: int) -> bool:
    try:
        fcntl.lockf(_locks(os.getpid()), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _locks(_pid: int) -> int:
    """The file of locks, open until the process ends: closing it would give them up. One that was
    forked has none of them, and opens it for itself.
    """
    path = Path(tempfile.gettempdir()) / f"signalbox-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
