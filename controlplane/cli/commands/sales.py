"""Commands about flash sales: how they stand, and corrections of frozen ones."""

from typing import Annotated

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import NameArgument
from controlplane.cli.paths import path_of

SALES = "/v1/sales"

app = typer.Typer(help="Flash sales.", no_args_is_help=True)


@app.command("list")
def list_sales(context: typer.Context, as_json: JsonOption = False) -> None:
    """List sales: where each stands, and whether it is frozen."""
    found = connect(context).items(SALES)
    output.listing(
        found,
        as_json,
        ("NAME", "ITEM", "STOCK", "PHASE", "OPENS", "ENDS", "FROZEN"),
        lambda one: (
            one["name"],
            one["item"],
            one["stock"],
            one["phase"],
            output.when(one["opens_at"]),
            output.when(one["ends_at"]),
            "yes" if one["frozen"] else "no",
        ),
    )


@app.command("corrections")
def list_corrections(
    context: typer.Context, name: NameArgument, as_json: JsonOption = False
) -> None:
    """List what was proposed for a sale, and who has agreed."""
    found = connect(context).items(path_of(SALES, name, "/corrections"))
    output.listing(
        found,
        as_json,
        ("CORRECTION", "FIELDS", "AUTHOR", "REVIEWER", "REASON"),
        lambda one: (
            one["id"],
            ", ".join(f"{key}={value}" for key, value in sorted(one["fields"].items())),
            one["author"],
            one["reviewer"],
            one["reason"],
        ),
    )


@app.command("correct")
def correct(
    context: typer.Context,
    name: NameArgument,
    changes: Annotated[
        list[str], typer.Option("--set", metavar="FIELD=VALUE", help="As in the fleet file.")
    ],
    reason: ReasonOption = "",
) -> None:
    """Propose a change of a frozen sale; a second operator approves it."""
    from controlplane.cli.client import json_body

    fields = {key: value for key, _, value in (each.partition("=") for each in changes)}
    body = json_body({"fields": fields, "reason": reason})
    made = connect(context).send("POST", path_of(SALES, name, "/corrections"), body=body)
    output.emit(made)
    output.note(f"somebody else agrees with: signalbox sales approve {made['id']}")


@app.command("approve")
def approve(
    context: typer.Context,
    correction: Annotated[str, typer.Argument(metavar="CORRECTION", help="As `correct` named it.")],
) -> None:
    """Agree to somebody else's correction; then the fleet file that has it can be applied."""
    output.emit(
        connect(context).send("POST", path_of(f"{SALES}:corrections", correction, ":approve"))
    )
