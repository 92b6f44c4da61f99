"""Commands about what is declared: apply, diff, export."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.failures import EXIT_CODES, in_file
from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Refused

if TYPE_CHECKING:
    from controlplane.cli.client import Body

FLEET = "/v1/fleet"
# As the server takes.
MOST_BYTES = 5_000_000
SIGNS = {"add": "+", "remove": "-", "change": "~"}

FileOption = Annotated[
    Path, typer.Option("--file", "-f", help="Fleet file, YAML or JSON; - is standard input.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(apply)
    app.command()(diff)
    app.command()(export)


def apply(
    context: typer.Context,
    file: FileOption,
    reason: ReasonOption = "",
    generation: Annotated[
        int | None,
        typer.Option(min=0, help="Refuse when the fleet's generation is another by now."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also when it removes or moves a large share; audited.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the declared fleet that of FILE."""
    params = {"reason": reason or None, "force": "true" if force else None}
    headers = {} if generation is None else {"If-Match": f'"{generation}"'}
    with in_file(str(file)):
        answer = connect(context).send(
            "PUT", FLEET, body=_body(file), params=params, headers=headers
        )
    _show(answer, as_json)
    output.note(f"generation {answer['generation']} is in force")
    if answer["held"]:
        # What was left out was refused; the rest is in force.
        raise typer.Exit(EXIT_CODES[Refused])


def diff(context: typer.Context, file: FileOption, as_json: JsonOption = False) -> None:
    """Show what applying FILE would change; nothing is changed."""
    with in_file(str(file)):
        answer = connect(context).send("PUT", FLEET, body=_body(file), params={"dry_run": "true"})
    _show(answer, as_json)
    if answer["objection"]:
        output.note(f"apply will refuse this unless forced: {answer['objection']}")


def export(context: typer.Context, as_json: JsonOption = False) -> None:
    """Print the fleet in force as a fleet file."""
    client = connect(context)
    if as_json:
        output.emit(client.get(FLEET))
    else:
        sys.stdout.write(client.text(FLEET, "application/yaml"))


def _body(file: Path) -> "Body":
    from controlplane.cli.client import Body

    return Body(content=read_text(file, MOST_BYTES).encode(), media_type="application/yaml")


def _show(answer: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.emit(answer)
        return
    show_changes(answer["changes"])
    for one in answer["held"]:
        item = one["route"] if one["route"].startswith("policy/") else f"route {one['route']}"
        output.note(f"held as it was: {item}: {one['reason']}")


def show_changes(lines: Sequence[Mapping[str, Any]]) -> None:
    """Print one line for each item that differs, and its members if it is there on both sides."""
    if not lines:
        output.note("no difference")
    for line in lines:
        print(f"{SIGNS.get(line['kind'], '?')} {line['subject']}")
        if line["kind"] == "change":
            output.differences(json.loads(line["before"]), json.loads(line["after"]), "    ")
