"""Files that are whole or not there: written beside, synced, moved into place, read by digest.

Used for everything that must outlive a restart without the control plane.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from controlplane.domain.errors import Invalid

DIGEST_DIGITS = 64


def write_whole(path: Path, magic: bytes, body: bytes) -> None:
    """Put a file in place that only its owner reads.

    Args:
        magic: kind and format of the content; `read_whole` wants the same.

    Raises:
        OSError: the disk is full or gone; what was there before is still whole.
    """
    digest = hashlib.sha256(body).hexdigest().encode()
    beside = path.with_suffix(".new")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(magic + digest + b"\n" + body)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def read_whole(path: Path, magic: bytes) -> bytes:
    """The content again.

    Raises:
        Invalid: it is not what was written.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    end = len(magic) + DIGEST_DIGITS + 1
    header, body = data[:end], data[end:]
    digest = header[len(magic) :].rstrip(b"\n").decode(errors="replace")
    if not header.startswith(magic) or hashlib.sha256(body).hexdigest() != digest:
        raise Invalid("cache_file_damaged", "its digest is not that of its content")
    return body


def sync_folder(folder: Path) -> None:
    """Make the names of a folder's files outlive a power cut.

    Raises:
        OSError: the folder is gone.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
