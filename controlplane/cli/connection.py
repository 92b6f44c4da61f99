"""Which server a command talks to, and as whom.

`--url` or SIGNALBOX_URL names the server; `--token-file` (SIGNALBOX_TOKEN_FILE) or
SIGNALBOX_TOKEN gives the token. There is no `--token` option on purpose: arguments show in
every process list.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from controlplane.cli.target import Target
from controlplane.domain.errors import Invalid

if TYPE_CHECKING:
    from controlplane.cli.client import Client

DEFAULT_URL = "http://127.0.0.1:8080"

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, for programs.")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the audit log.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")]


def target(url: str, token_file: Path | None) -> Target:
    """Build the target from options and environment; Invalid when the file cannot be read."""
    if token_file is None:
        token = os.environ.get("SIGNALBOX_TOKEN", "")
    else:
        try:
            token = token_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise Invalid(
                "token_file_unreadable",
                f"cannot read the token file {token_file}: {reason}; "
                "give --token-file a readable file or set SIGNALBOX_TOKEN",
            ) from error
    return Target(url=url.rstrip("/"), token=token.strip() or None)


def connect(context: typer.Context) -> "Client":
    """Open a client for the target that the options of `signalbox` named."""
    from controlplane.cli.client import Client

    client = Client(checked(context))
    context.call_on_close(client.close)
    return client


def checked(context: typer.Context) -> Target:
    """The target that the options of `signalbox` named; Invalid when nothing can be asked there."""
    chosen = context.find_object(Target)
    assert chosen is not None, "the callback of `signalbox` sets the target"
    _check(chosen)
    return chosen


def _check(chosen: Target) -> None:
    """Raise Invalid when no request can be made of it; waiting would not help."""
    try:
        parts = urlsplit(chosen.url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        usable = usable and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Invalid("option_invalid", f"--url is {chosen.url!r}; give http://host:port")
    token = chosen.token or ""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise Invalid(
            "option_invalid", "the token has characters that no token has; copy it again, whole"
        )
