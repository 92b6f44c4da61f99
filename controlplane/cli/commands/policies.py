"""The group `policies`: what is declared, what it would say of a request, and its life."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands.routes.match import address_of
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.declared import FileOption, NameArgument, read
from controlplane.cli.headers import header_of
from controlplane.cli.paths import path_of
from controlplane.cli.text_files import read_text

POLICIES = "/v1/policies"
MOST_BYTES = 1_000_000

app = typer.Typer(help="Admission policies, and what they say of a request.", no_args_is_help=True)


class Mode(StrEnum):
    """How far a policy goes."""

    ENFORCE = "enforce"
    OBSERVE = "observe"
    OFF = "off"


def register(root: typer.Typer) -> None:
    """Add the group."""
    root.add_typer(app, name="policies")


@app.command("list")
def list_policies(context: typer.Context, as_json: JsonOption = False) -> None:
    """List every declared policy."""
    found = connect(context).items(f"{POLICIES}:list")
    output.listing(
        found,
        as_json,
        ("NAME", "KIND", "MODE", "ROUTES", "SERVICES", "REGIONS"),
        lambda one: (one["name"], one["kind"], one["mode"], *_attached(one["document"])),
    )


@app.command("show")
def show_policy(context: typer.Context, name: NameArgument) -> None:
    """Show one policy as JSON: its document can be changed and written again."""
    output.emit(connect(context).get(path_of(POLICIES, name)))


@app.command("write")
def write_policy(
    context: typer.Context, name: NameArgument, file: FileOption, reason: ReasonOption = ""
) -> None:
    """Declare a policy from a file, or change it."""
    from controlplane.cli.client import Body

    body = Body(content=read_text(file, MOST_BYTES).encode(), media_type="application/yaml")
    client = connect(context)
    output.emit(
        client.send("PUT", path_of(POLICIES, name), body=body, params={"reason": reason or None})
    )


@app.command("remove")
def remove_policy(context: typer.Context, name: NameArgument, reason: ReasonOption = "") -> None:
    """Take a policy away; gateways stop asking it at once."""
    client = connect(context)
    client.send("DELETE", path_of(POLICIES, name), params={"reason": reason or None})
    output.note(f"policy {name} is gone")


@app.command("mode")
def set_mode(
    context: typer.Context,
    name: NameArgument,
    mode: Annotated[Mode, typer.Argument(help="How far it is to go.")],
    reason: ReasonOption = "",
) -> None:
    """Have a policy enforced, observed, or neither."""
    from controlplane.cli.client import json_body

    body = json_body({"mode": mode.value, "reason": reason})
    connect(context).send("POST", path_of(POLICIES, name, ":mode"), body=body)
    output.note(f"policy {name}: {mode.value}")


@app.command("presets")
def list_presets(context: typer.Context, as_json: JsonOption = False) -> None:
    """List ready-made policies; with --json as documents."""
    found = connect(context).items(f"{POLICIES}:presets")
    output.listing(
        found,
        as_json,
        ("PRESET", "KIND", "FOR"),
        lambda one: (one["name"], one["kind"], one["description"]),
    )


@app.command("reports")
def list_reports(context: typer.Context, as_json: JsonOption = False) -> None:
    """List which version of the policies each gateway runs, and what it cannot enforce."""
    found = connect(context).items(f"{POLICIES}:reports")
    output.listing(
        found,
        as_json,
        ("GATEWAY", "GROUP", "UP TO DATE", "NOT ENFORCED", "HEARD"),
        lambda one: (
            one["gateway"],
            one["group"],
            "yes" if one["up_to_date"] else "no",
            " ".join(one["unreadable"]) or None,
            output.when(one["heard"]),
        ),
    )


@app.command("decide")
def decide(
    context: typer.Context,
    url: Annotated[str, typer.Option("--url", help="URL, or path of a request.")],
    method: Annotated[str, typer.Option("--method", help="Its method.")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option("--header", help="NAME=VALUE; repeatable.")
    ] = None,
    source: Annotated[str, typer.Option("--source", help="Address of the client.")] = "",
    gateway: Annotated[
        str | None, typer.Option("--gateway", help="As this gateway group sees it.")
    ] = None,
    region: Annotated[str, typer.Option("--region", help="Where it comes from.")] = "",
    user: Annotated[str, typer.Option("--user", help="Who sends it.")] = "",
    state: Annotated[
        Path | None, typer.Option("--state", help="YAML or JSON: policy -> facts of its kind.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", help="Policies as if they were published; - is standard input."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what the policies would say of a request; nothing is counted."""
    from controlplane.cli.client import json_body

    wanted = {
        **address_of(url),
        "method": method.upper(),
        "headers": dict(header_of(each) for each in header or ()),
        "source": source,
        "gateway": gateway,
        "region": region,
        "user": user,
        "state": {} if state is None else read(state),
        "policies": None if file is None else read_text(file, MOST_BYTES),
    }
    answer = connect(context).send("POST", f"{POLICIES}:decide", body=json_body(wanted))
    if as_json:
        output.emit(answer)
    else:
        _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    decision = answer["decision"]
    output.facts(
        (
            ("route", answer["route"]),
            ("service", answer["service"] or None),
            ("region", answer["region"] or None),
            ("verdict", decision["verdict"]),
            ("because", answer["refused"] or decision["reason"] or None),
            ("policy", decision["policy"] or None),
            *((("status", decision["status"]),) if decision["status"] else ()),
        )
    )
    if answer["said"]:
        print()
        output.table(
            ("POLICY", "KIND", "MODE", "EFFECT", "VERDICT", "REASON", "DETAILS"),
            (_said(one) for one in answer["said"]),
        )


def _said(one: Mapping[str, Any]) -> tuple[object, ...]:
    decision = one["decision"]
    details = ", ".join(f"{key} {_plain(value)}" for key, value in decision["details"].items())
    return (
        one["policy"],
        one["kind"],
        one["mode"],
        one["effect"],
        decision["verdict"],
        decision["reason"] or None,
        output.clipped(details, 60),
    )


def _plain(value: object) -> str:
    """A detail as a person reads it: a time to the tenth, names without brackets."""
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "-"
    return str(value)


def _attached(document: Mapping[str, Any]) -> tuple[str, ...]:
    lists = (document.get(key, ()) for key in ("routes", "services", "regions"))
    return tuple(" ".join(names) or "*" for names in lists)
