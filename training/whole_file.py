"""Result files that are whole or not there: written beside their place and moved into it.

Every command of `python -m training` writes its files so; a run that is killed, or a full disk,
leaves what was there before.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from controlplane.domain.errors import Invalid


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield the name to write to; at the end that file takes the place of `path`.

    Folders are made. A pipe or a device, such as /dev/stdout, is written to as it is.

    Raises:
        Invalid: `out_unwritable`: a folder, no rights, a full disk.
    """
    with _telling(path):
        if _is_stream(path):
            yield path
            return
        beside = _beside(path)
        try:
            yield beside
            beside.replace(path.resolve())
        finally:
            beside.unlink(missing_ok=True)


def check_places(*paths: Path | None, read: Sequence[Path | None] = ()) -> None:
    """Find out now, and not after hours, that a result cannot be written.

    Args:
        read: files that must not be overwritten, because the results are made of them.

    Raises:
        Invalid: `out_unwritable`; `option_invalid`: two results in one file, or one in `read`.
    """
    taken = {path.resolve() for path in read if path is not None}
    for path in (path for path in paths if path is not None):
        with _telling(path):
            if path.resolve() in taken:
                message = f"{path} is read or written already: give each file its own name"
                raise Invalid("option_invalid", message)
            taken.add(path.resolve())
            if not _is_stream(path):
                trial = _beside(path)
                trial.touch()
                trial.unlink()


def check_folder(path: Path) -> None:
    """Find out now that no file can be written into a folder, there or yet to be made.

    Raises:
        Invalid: `out_unwritable`.
    """
    with _telling(path):
        nearest = next(one for one in (path, *path.absolute().parents) if one.exists())
        if not nearest.is_dir():
            raise NotADirectoryError(f"{nearest} is no folder")
        trial = _beside(nearest / path.name)
        trial.touch()
        trial.unlink()


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        words = error.strerror or str(error)
        message = f"{path} cannot be written: {words}: check its folder, its rights and its disk"
        raise Invalid("out_unwritable", message) from error


def _is_stream(path: Path) -> bool:
    if path.is_dir():
        raise IsADirectoryError("it is a folder")
    return path.exists() and not path.is_file()


def _beside(path: Path) -> Path:
    """In the same folder, made when missing, so that moving it replaces the old file at once."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.with_name(f".{target.name[:200]}.{os.getpid()}.partial")
