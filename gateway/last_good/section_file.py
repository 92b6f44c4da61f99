"""The last good answer of one resource of the control plane, as bytes on disk.

Written when a new one has come and can be read; read at the next start, with or without a control
plane.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from controlplane.domain.errors import Invalid
from gateway.last_good.polling import Fetched
from gateway.last_good.whole_file import read_whole, sync_folder, write_whole

Meant = TypeVar("Meant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Generic[Meant]):
    """What a file holds; `tag` is the ETag of its bytes."""

    meant: Meant
    tag: str
    revision: int


class SectionFile(Generic[Meant]):
    """One file; every write of it is whole.

    Args:
        path: where it is.
        magic: kind and format of its content.
        decode: its meaning; raises Invalid.
    """

    def __init__(self, path: Path, magic: bytes, decode: Callable[[bytes], Meant]) -> None:
        self.path = path
        self._magic = magic
        self.meaning = decode

    def read(self) -> Stored[Meant] | None:
        """What is kept; None when nothing ever was.

        Raises:
            Invalid: it is damaged, or nothing that this version understands.
            OSError: it cannot be read.
        """
        if not self.path.exists():
            return None
        head, _, body = read_whole(self.path, self._magic).partition(b"\n")
        revision, _, tag = head.decode().partition(" ")
        if not revision.isdecimal():
            raise Invalid("cache_file_damaged", "its first line has no revision")
        return Stored(meant=self.meaning(body), tag=tag, revision=int(revision))

    def store(self, new: Fetched) -> Meant:
        """Keep an answer that can be read, and return its meaning.

        Raises:
            Invalid: it cannot; what is kept stays.
            OSError: the disk is full or gone; what was there before is still whole.
        """
        meant = self.meaning(new.body)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self.path, self._magic, f"{new.revision} {new.tag}\n".encode() + new.body)
        sync_folder(self.path.parent)
        return meant
