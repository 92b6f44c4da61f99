"""Commands about incidents: what was wrong, and the timeline of what happened meanwhile."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import with_reason
from controlplane.cli.paths import path_of

INCIDENTS = "/v1/incidents"

NameArgument = Annotated[str, typer.Argument(help="As `incidents list` shows it.")]

app = typer.Typer(help="Incidents and their timelines.", no_args_is_help=True)


@app.command("list")
def list_incidents(context: typer.Context, as_json: JsonOption = False) -> None:
    """List incidents, the latest first."""
    found = connect(context).items(INCIDENTS)
    output.listing(
        found,
        as_json,
        ("NAME", "OPENED", "CLOSED", "AUTHOR", "TITLE"),
        lambda one: (
            one["name"],
            output.when(one["opened"]),
            output.when(one["closed"]),
            one["author"],
            one["title"],
        ),
    )


@app.command("timeline")
def timeline(
    context: typer.Context,
    name: NameArgument,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print it as a Markdown document.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what happened, who did what, what changed where."""
    client, path = connect(context), path_of(INCIDENTS, name, "/timeline")
    if markdown:
        sys.stdout.write(client.text(path, "text/markdown"))
        return
    found = client.get(path)
    if as_json:
        output.emit(found)
        return
    output.table(
        ("TIME", "KIND", "WHO", "WHERE", "WHAT"),
        (
            (
                output.when(one["time"]),
                one["kind"],
                one["who"] or None,
                one["subject"],
                output.clipped(one["what"], 100),
            )
            for one in found["entries"]
        ),
    )
    if found["cut"]:
        output.note("there was more than is shown")


@app.command("open")
def open_incident(
    context: typer.Context,
    title: Annotated[str, typer.Argument(help="What is wrong, in a few words.")],
    as_json: JsonOption = False,
) -> None:
    """Open an incident by hand; it stays open until somebody closes it."""
    _show(connect(context).send("POST", INCIDENTS, body=with_reason({"title": title}, "")), as_json)


@app.command("note")
def note(
    context: typer.Context,
    name: NameArgument,
    words: Annotated[str, typer.Argument(help="What you saw or did.")],
) -> None:
    """Write a line into the timeline."""
    path = path_of(INCIDENTS, name, ":note")
    connect(context).send("POST", path, body=with_reason({"note": words}, ""))
    output.note("noted")


@app.command("close")
def close_incident(
    context: typer.Context,
    name: NameArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Close an incident."""
    path = path_of(INCIDENTS, name, ":close")
    _show(connect(context).send("POST", path, body=with_reason({}, reason)), as_json)


def _show(incident: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.emit(incident)
        return
    output.facts(
        (
            ("incident", incident["name"]),
            ("title", incident["title"]),
            ("opened", output.when(incident["opened"])),
            ("closed", output.when(incident["closed"])),
            ("author", incident["author"]),
        )
    )
