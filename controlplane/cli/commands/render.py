"""The command `render`: the files of one kind of data plane, printed or written."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, connect
from controlplane.domain.errors import Invalid

RENDERED = "/v1/config/rendered"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(render)


def render(
    context: typer.Context,
    plane: Annotated[str, typer.Option(help="`haproxy`, `nginx`, `caddy`, `traefik` or `envoy`.")],
    group: Annotated[
        str | None, typer.Option(help="Gateway group; not needed when there is one.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; printed when left out.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show or write the files that a kind of gateway gets; notes say what it cannot express."""
    query = {"plane": plane} if group is None else {"plane": plane, "group": group}
    answer = connect(context).get(RENDERED, query)
    if as_json:
        output.emit(answer)
        return
    for note in answer["notes"]:
        sys.stderr.write(f"{note['severity']}: {note['message']} ({note['code']})\n")
    for file in answer["files"]:
        if out is None:
            sys.stdout.write(f"# {file['name']}\n{file['text']}\n")
        else:
            _write(out / file["name"], file["text"])


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever watches the file never reads half of it.
        new = path.with_name(f".{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise Invalid("out_unwritable", f"{path} cannot be written: {error.strerror}") from error
