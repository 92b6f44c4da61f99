"""Commands about scenarios: prepared sets of intents, forecast, applied and undone as one."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import FileOption, NameArgument, body_of, with_reason
from controlplane.cli.intent_words import show_forecast, target_words
from controlplane.cli.paths import path_of

SCENARIOS = "/v1/scenarios"
RUNS = "/v1/scenarios:runs"

app = typer.Typer(help="Scenarios: prepared sets of intents.", no_args_is_help=True)


@app.command("list")
def list_scenarios(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what is prepared."""
    found = connect(context).items(SCENARIOS)
    output.listing(
        found,
        as_json,
        ("NAME", "TITLE", "ORDERS", "LASTS"),
        lambda one: (
            one["name"],
            one["title"],
            ", ".join(order["kind"] for order in one["orders"]),
            None if one["lasts_s"] is None else f"{one['lasts_s']:g} s",
        ),
    )


@app.command("show")
def show_scenario(context: typer.Context, name: NameArgument) -> None:
    """Show one as JSON, which can be changed and prepared again."""
    output.emit(connect(context).get(path_of(SCENARIOS, name)))


@app.command("put")
def put_scenario(
    context: typer.Context, name: NameArgument, file: FileOption, reason: ReasonOption = ""
) -> None:
    """Prepare a scenario from a file, or change it."""
    body = body_of(file, reason)
    output.emit(connect(context).send("PUT", path_of(SCENARIOS, name), body=body))


@app.command("forecast")
def forecast(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Tell what each of its orders would do, those before it being done."""
    found = connect(context).send("POST", path_of(SCENARIOS, name, ":forecast"))["items"]
    if as_json:
        output.emit(found)
        return
    for step in found:
        print(f"# {step['order']['kind']} {target_words(step['order']['target'])}")
        show_forecast(step["forecast"], as_json=False)
        print()


@app.command("apply")
def apply(
    context: typer.Context,
    name: NameArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Make all of its intents, or none."""
    body = with_reason({}, reason)
    _show(connect(context).send("POST", path_of(SCENARIOS, name, ":apply"), body=body), as_json)


@app.command("runs")
def list_runs(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what was applied, the latest first."""
    found = connect(context).items(RUNS)
    output.listing(
        found,
        as_json,
        ("RUN", "APPLIED", "UNDONE", "AUTHOR", "STANDING"),
        lambda one: (
            one["name"],
            output.when(one["applied"]),
            output.when(one["undone"]),
            one["author"],
            ", ".join(one["standing"]) or None,
        ),
    )


@app.command("undo")
def undo(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="As `scenarios runs` shows it.")],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take back all intents of a run that still stand, the newest first."""
    body = with_reason({}, reason)
    _show(connect(context).send("POST", path_of(RUNS, run, ":undo"), body=body), as_json)


@app.command("remove")
def remove(context: typer.Context, name: NameArgument, reason: ReasonOption = "") -> None:
    """Remove a scenario; what was applied of it stays."""
    connect(context).send("DELETE", path_of(SCENARIOS, name), params={"reason": reason})
    output.note(f"scenario {name} is removed")


def _show(run: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.emit(run)
        return
    output.facts(
        (
            ("run", run["name"]),
            ("scenario", run["scenario"]),
            ("applied", output.when(run["applied"])),
            ("undone", output.when(run["undone"])),
            ("intents", ", ".join(run["intents"]) or None),
            ("standing", ", ".join(run["standing"]) or None),
        )
    )
    if run["standing"] and run["undone"] is None:
        output.note(f"take it back: signalbox scenarios undo {run['name']}")
