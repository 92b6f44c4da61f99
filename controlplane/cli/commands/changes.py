"""Commands about planned changes: upgrade, migration, own stages; start, pause, abort."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import FileOption, NameArgument, read, with_reason
from controlplane.cli.paths import path_of

CHANGES = "/v1/changes"
STEERING = {
    "start": "Begin a planned change now.",
    "advance": "Begin the next stage, past a gate or a wait.",
    "skip": "Begin the next stage without what the newest one could not do.",
    "pause": "Leave a change at its stage until it is resumed.",
    "resume": "Go on with a change that was paused.",
    "abort": "Undo all that a change has made, the newest first.",
}

HoldOption = Annotated[
    float | None, typer.Option("--hold", metavar="SECONDS", help="Least time of each stage.")
]
ErrorsOption = Annotated[
    float | None, typer.Option("--most-errors", metavar="RATIO", help="Gate: error ratio, 0..1.")
]
UseOption = Annotated[
    float | None, typer.Option("--most-use", metavar="RATIO", help="Gate: requests of capacity.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the stages; plan nothing.")]

app = typer.Typer(help="Planned changes in stages, with gates.", no_args_is_help=True)


@app.command("list")
def list_changes(context: typer.Context, as_json: JsonOption = False) -> None:
    """List planned changes, the latest made first."""
    found = connect(context).items(CHANGES)
    output.listing(
        found,
        as_json,
        ("NAME", "STATE", "STAGE", "STARTS", "TITLE", "WAITS"),
        lambda one: (
            one["name"],
            one["state"],
            f"{one['stage'] + 1} of {len(one['stages'])}",
            output.when(one["starts"]),
            one["title"],
            output.clipped(one["waits"] or one["words"], 60),
        ),
    )


@app.command("show")
def show_change(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show one change with its stages."""
    _show(connect(context).get(path_of(CHANGES, name)), as_json)


@app.command("plan")
def plan(
    context: typer.Context,
    name: NameArgument,
    file: FileOption,
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan a change from a file with stages, an upgrade or a migration."""
    _plan(context, name, {**read(file), "reason": reason}, dry_run=dry_run, as_json=as_json)


@app.command("upgrade")
def upgrade(
    *,
    context: typer.Context,
    name: NameArgument,
    centers: Annotated[list[str], typer.Argument(metavar="DATACENTER...")],
    hold: HoldOption = None,
    most_errors: ErrorsOption = None,
    most_use: UseOption = None,
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan an upgrade: each data centre is drained, waits for you, and is brought back."""
    wanted = {"title": f"upgrade {', '.join(centers)}", "upgrade": {"datacenters": centers}}
    body = {**wanted, "pace": _pace(hold, most_errors, most_use), "reason": reason}
    _plan(context, name, body, dry_run=dry_run, as_json=as_json)


@app.command("migrate")
def migrate(
    *,
    context: typer.Context,
    name: NameArgument,
    old: Annotated[str, typer.Argument(metavar="FROM")],
    new: Annotated[str, typer.Argument(metavar="TO")],
    step: Annotated[
        list[float] | None, typer.Option("--step", help="Part that has moved, rising to 1.")
    ] = None,
    hold: HoldOption = None,
    most_errors: ErrorsOption = None,
    most_use: UseOption = None,
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan a migration of all services from one data centre to another, in steps."""
    move = {"from_datacenter": old, "to_datacenter": new, "steps": step or []}
    wanted = {"title": f"{old} moves to {new}", "migration": move}
    body = {**wanted, "pace": _pace(hold, most_errors, most_use), "reason": reason}
    _plan(context, name, body, dry_run=dry_run, as_json=as_json)


@app.command("remove")
def remove(context: typer.Context, name: NameArgument, reason: ReasonOption = "") -> None:
    """Forget a change that has not begun or is over; its intents stay."""
    connect(context).send("DELETE", path_of(CHANGES, name), params={"reason": reason})
    output.note(f"change {name} is forgotten")


def _steering(event: str) -> Callable[..., None]:
    def steer(
        context: typer.Context,
        name: NameArgument,
        reason: ReasonOption = "",
        as_json: JsonOption = False,
    ) -> None:
        path = path_of(CHANGES, name, f":{event}")
        _show(connect(context).send("POST", path, body=with_reason({}, reason)), as_json)

    steer.__doc__ = STEERING[event]
    return steer


for _event in STEERING:
    app.command(_event)(_steering(_event))


def _plan(
    context: typer.Context, name: str, wanted: Mapping[str, Any], *, dry_run: bool, as_json: bool
) -> None:
    body = with_reason(wanted, "")
    client = connect(context)
    if dry_run:
        _show(client.send("POST", f"{CHANGES}:preview", body=body), as_json)
        return
    _show(client.send("PUT", path_of(CHANGES, name), body=body), as_json)
    output.note(f"begin it: signalbox changes start {name}")


def _pace(hold: float | None, errors: float | None, use: float | None) -> dict[str, Any]:
    gate = {"most_error_ratio": errors, "most_utilization": use}
    return {"gate": gate} if hold is None else {"gate": gate, "hold_s": hold}


def _show(change: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.emit(change)
        return
    output.facts(
        (
            ("change", change["name"]),
            ("title", change["title"]),
            ("state", change["state"]),
            ("author", change["author"]),
            ("reason", change["reason"] or None),
            ("starts", output.when(change["starts"])),
            ("words", change["words"] or None),
            ("waits", change["waits"] or None),
        )
    )
    output.table(
        ("STAGE", "TITLE", "ORDERS", "HOLD", "INTENTS"),
        (
            (
                f"{'>' if number == change['stage'] else ' '}{number}",
                one["title"],
                ", ".join(order["kind"] for order in one["orders"]) or None,
                "an operator" if one["hold_s"] is None else f"{one['hold_s']:g} s",
                ", ".join(one["intents"]) or None,
            )
            for number, one in enumerate(change["stages"])
        ),
    )
