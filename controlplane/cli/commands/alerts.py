"""Commands about alerts: what fires, what came of it, and the policies that say so."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import FileOption, NameArgument, body_of
from controlplane.cli.headers import header_of
from controlplane.cli.paths import path_of

ALERTS = "/v1/alerts"
POLICIES = "/v1/alert-policies"

app = typer.Typer(help="Alerts: what fires, and what came of it.", no_args_is_help=True)
policies = typer.Typer(help="Alert policies: which alerts order what.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="alerts")
    root.add_typer(policies, name="alert-policies")


@app.command("list")
def list_alerts(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what fires now, the latest first."""
    found = connect(context).items(ALERTS)
    output.listing(
        found,
        as_json,
        ("SINCE", "ORIGIN", "ALERT", "LABELS", "SUMMARY"),
        lambda one: (
            output.when(one["since"]),
            one["origin"],
            one["labels"].get("alertname"),
            output.clipped(_labels(one["labels"]), 60),
            output.clipped(one["summary"], 60),
        ),
    )


@app.command("episodes")
def list_episodes(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the targets that alerts are about, and the intent that each has led to."""
    found = connect(context).items(f"{ALERTS}:episodes")
    output.listing(
        found,
        as_json,
        ("SINCE", "TARGET", "POLICY", "ALERTS", "INTENT", "WHY NOT"),
        lambda one: (
            output.when(one["since"]),
            one["target"],
            one["policy"],
            one["alerts"],
            one["intent"] or None,
            output.clipped(one["words"], 80),
        ),
    )


@policies.command("list")
def list_policies(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the policies by name: of several that match a target the first one counts."""
    found = connect(context).items(POLICIES)
    output.listing(
        found,
        as_json,
        ("NAME", "MODE", "LISTENS TO", "ORDERS", "LASTS", "AT MOST"),
        lambda one: (
            one["name"],
            one["mode"],
            output.clipped(", ".join(map(_matcher, one["matchers"])), 60),
            f"{one['order']['kind']} {_labels(one['order']['target'])}".strip(),
            f"{one['lasts_s']:g} s",
            f"{one['most']} in {one['per_s']:g} s",
        ),
    )


@policies.command("show")
def show_policy(context: typer.Context, name: NameArgument) -> None:
    """Show one policy as JSON, which can be changed and declared again."""
    output.emit(connect(context).get(path_of(POLICIES, name)))


@policies.command("put")
def put_policy(
    context: typer.Context, name: NameArgument, file: FileOption, reason: ReasonOption = ""
) -> None:
    """Declare a policy from a file, or change it."""
    body = body_of(file, reason)
    output.emit(connect(context).send("PUT", path_of(POLICIES, name), body=body))


@policies.command("test")
def try_policies(
    context: typer.Context,
    labels: Annotated[list[str], typer.Argument(metavar="LABEL=VALUE...")],
    origin: Annotated[
        str, typer.Option("--origin", help="Whose alert: alertmanager, or findings.")
    ] = "alertmanager",
    as_json: JsonOption = False,
) -> None:
    """Tell which policies would listen to an alert with these labels, and what they would order."""
    from controlplane.cli.client import json_body

    body = json_body({"labels": dict(map(header_of, labels)), "origin": origin})
    found = connect(context).send("POST", f"{POLICIES}:test", body=body)["items"]
    output.listing(
        found,
        as_json,
        ("POLICY", "MODE", "TARGET", "OBJECTION"),
        lambda one: (one["policy"], one["mode"], one["target"] or None, one["objection"] or None),
    )


@policies.command("remove")
def remove_policy(context: typer.Context, name: NameArgument, reason: ReasonOption = "") -> None:
    """Remove a policy; intents that it has ordered stay until their end."""
    connect(context).send("DELETE", path_of(POLICIES, name), params={"reason": reason})
    output.note(f"alert policy {name} is removed")


def _labels(labels: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in labels.items() if value)


def _matcher(matcher: Mapping[str, Any]) -> str:
    return f"{matcher['label']}{matcher['comparison']}{matcher['value']}"
