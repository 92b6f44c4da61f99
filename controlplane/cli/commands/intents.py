"""Commands about intents: what people and automation asked for, how far it is, and undo."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.intent_words import show, target_words
from controlplane.cli.paths import path_of

INTENTS = "/v1/intents"

ReturnOption = Annotated[
    float | None,
    typer.Option("--return-over", metavar="SECONDS", min=0.0, help="The way back takes so long."),
]

app = typer.Typer(help="What people and automation asked for, and undo.", no_args_is_help=True)


@app.command("list")
def list_intents(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that ended, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what stands, the latest first."""
    params = None if everything else {"standing": "true"}
    found = connect(context).items(INTENTS, params)
    output.listing(
        found,
        as_json,
        ("ID", "STATE", "TARGET", "SINCE", "EXPIRES", "AUTHOR", "DONE", "REASON"),
        lambda one: (
            one["id"],
            one["ending"] if one["state"] == "ended" else one["state"],
            target_words(one["target"]),
            output.when(one["created"]),
            output.when(one["expires"]),
            one["author"],
            _done(one["progress"]),
            output.clipped(one["reason"], 60),
        ),
    )


@app.command("show")
def show_intent(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="The intent's id.")],
    as_json: JsonOption = False,
) -> None:
    """Show one, and how far it is on each data plane."""
    show(connect(context).get(path_of(INTENTS, intent_id)), as_json)


@app.command("undo")
def undo(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="The intent's id.")],
    return_s: ReturnOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take one back; everything is then as it was without it."""
    from controlplane.cli.client import json_body

    body = json_body({"reason": reason, "return_s": return_s})
    show(connect(context).send("POST", path_of(INTENTS, intent_id, ":undo"), body=body), as_json)


def _done(progress: Sequence[Mapping[str, Any]]) -> str | None:
    nodes = sum(one["nodes"] for one in progress)
    return f"{sum(one['done'] for one in progress)}/{nodes}" if nodes else None
