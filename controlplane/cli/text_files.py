"""Files that a command is given with -f: text, of some size and no more; `-` is standard input."""

import sys
from pathlib import Path

from controlplane.domain.errors import Invalid, NotFound

STDIN = Path("-")


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a file or of standard input; NotFound or Invalid with the file's name.

    A pipe or a device may have no end, so not much more than `most_bytes` is read.
    """
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(most_bytes + 1)
        else:
            with path.open("rb") as file:
                data = file.read(most_bytes + 1)
    except OSError as error:
        raise NotFound("file_unreadable", f"cannot read {path}: {error.strerror}") from error
    if len(data) > most_bytes:
        raise Invalid(
            "file_too_large", f"{path} has more than {most_bytes} bytes; leave out or give in parts"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            "file_not_text", f"byte {error.start} of {path} is not UTF-8; save it as UTF-8"
        ) from error
