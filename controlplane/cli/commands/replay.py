"""`signalbox replay`: make recorded decisions again and compare."""

from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, connect
from controlplane.cli.paths import path_of

DECISIONS = "/v1/decisions"
DIFFERS = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    context: typer.Context,
    decision_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="As `decisions list` shows it; none: the newest."),
    ] = None,
    service: Annotated[str | None, typer.Option(help="The newest of this service.")] = None,
    limit: LimitOption = 20,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Judge the recorded proposal; ask no strategy.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make decisions again from what they recorded; exit code 1 when one differs."""
    client = connect(context)
    chosen = decision_ids or [
        one["id"] for one in client.items(DECISIONS, {"service": service, "limit": limit})
    ]
    origin = "record" if recorded else "strategy"
    found = [client.get(path_of(DECISIONS, one, "/replay"), {"origin": origin}) for one in chosen]
    if as_json:
        output.emit(found)
    else:
        output.table(
            ("ID", "TIME", "OUTCOME", "FROM", "RESULT"),
            (
                (one["id"], output.when(one["time"]), one["outcome"], one["origin"], _result(one))
                for one in found
            ),
        )
    if not all(one["agrees"] for one in found):
        raise typer.Exit(DIFFERS)


def _result(one: dict[str, Any]) -> str:
    words = "identical" if one["identical"] else "agrees within 1e-6"
    if not one["agrees"]:
        far = one["difference"]
        words = "differs: another outcome" if far is None else f"differs by {far:.6f}"
    return f"{words} ({one['reason']})" if one["reason"] else words
