"""What commands of operations share: a body from a YAML or JSON file, and a declared item.

A file that says less than it may keeps the usual values of the API.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Invalid

if TYPE_CHECKING:
    from controlplane.cli.client import Body

MOST_BYTES = 1_000_000

NameArgument = Annotated[str, typer.Argument(help="Its name.")]
FileOption = Annotated[
    Path, typer.Option("--file", "-f", help="YAML or JSON; - is standard input.")
]


def body_of(file: Path, reason: str = "") -> "Body":
    """A body from a file, with a reason if one is given; Invalid when it is no mapping."""
    return with_reason(read(file), reason)


def read(file: Path) -> dict[str, Any]:
    """The mapping in a file; Invalid when there is none."""
    import yaml

    try:
        # What JSON has no values for would end in a traceback when it is sent.
        found = json.loads(
            json.dumps(
                yaml.safe_load(read_text(file, MOST_BYTES)), default=_time_text, allow_nan=False
            )
        )
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise Invalid("document_unreadable", f"{file} cannot be read: {error}") from error
    except RecursionError as error:
        raise Invalid("document_unreadable", f"{file} is nested too deeply") from error
    if not isinstance(found, dict):
        raise Invalid("document_unreadable", f"{file} holds no mapping of names to values")
    return found


def _time_text(value: object) -> str:
    """A time of YAML, which needs no quotes there, as the API takes it."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{value!r} is nothing that JSON has")


def with_reason(content: Mapping[str, Any], reason: str) -> "Body":
    """A JSON body, with the reason that the command line gives."""
    from controlplane.cli.client import json_body

    return json_body({**content, "reason": reason} if reason else dict(content))
