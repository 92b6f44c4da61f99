"""The commands `routes write, publish, retire, ...` that take a route through its life."""

from collections.abc import Mapping
from typing import Annotated

import typer

from controlplane.cli import output
from controlplane.cli.commands.fleet import FileOption
from controlplane.cli.commands.routes.group import ROUTES, IdArgument
from controlplane.cli.commands.routes.words import tell
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.failures import in_file
from controlplane.cli.paths import path_of
from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Invalid

MOST_BYTES = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands to the group `routes`."""
    app.command("write")(write_route)
    app.command("publish")(publish_route)
    app.command("retire")(retire_route)
    app.command("stop")(stop_gray)
    app.command("step")(step_gray)
    app.command("discard")(discard_route)
    app.command("rollback")(roll_back)


def write_route(
    context: typer.Context,
    route_id: IdArgument,
    file: FileOption,
    publish: Annotated[bool, typer.Option("--publish", help="Also put it in force.")] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Keep the route of FILE as a draft.

    The file has one route: the keys of an item of `routes` in a fleet file.
    """
    from controlplane.cli.client import Body

    body = Body(content=read_text(file, MOST_BYTES).encode(), media_type="application/yaml")
    params = {"reason": reason or None, "publish": "true" if publish else None}
    with in_file(str(file)):
        answer = connect(context).send("PUT", path_of(ROUTES, route_id), body=body, params=params)
    tell(answer, as_json)


def publish_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put a route in force for all traffic.

    It was a draft, gray or retired. A check that fails refuses it.
    """
    _act(context, route_id, ":publish", {"reason": reason}, as_json)


def retire_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take a route away.

    Its last form is kept and can be published again.
    """
    _act(context, route_id, ":retire", {"reason": reason}, as_json)


def stop_gray(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Give all traffic back to the old route.

    The one that was gray is a draft again.
    """
    _act(context, route_id, ":stop", {"reason": reason}, as_json)


def step_gray(
    context: typer.Context,
    route_id: IdArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, help="Which one, from 1; else the next.")
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take a step of a gray release by hand.

    Its gate is not asked.
    """
    wanted = {"reason": reason, "step": None if step is None else step - 1}
    _act(context, route_id, ":step", wanted, as_json)


def discard_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Drop a draft, or what is left when retired.

    A published route is retired.
    """
    params = {"reason": reason or None}
    answer = connect(context).send("DELETE", path_of(ROUTES, route_id), params=params)
    tell(answer, as_json)


def roll_back(
    context: typer.Context,
    route_id: Annotated[
        str | None, typer.Argument(help="The route's id; left out beside --generation.")
    ] = None,
    revision: Annotated[
        int | None, typer.Option("--revision", min=1, help="Its form; else the one before.")
    ] = None,
    generation: Annotated[
        int | None,
        typer.Option("--generation", min=1, help="All routes as they were in this fleet."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also when it changes a large share; audited.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Publish an earlier form, byte for byte.

    Of one route, or of the whole table.
    """
    if (route_id is None) == (generation is None):
        raise Invalid("option_invalid", "give a route's id, or --generation for the whole table")
    if route_id is not None:
        _act(context, route_id, ":rollback", {"reason": reason, "revision": revision}, as_json)
        return
    from controlplane.cli.client import json_body

    body = json_body({"generation": generation, "reason": reason, "force": force})
    answer = connect(context).send("POST", f"{ROUTES}:rollback", body=body)
    if as_json:
        output.emit(answer)
        return
    for line in answer["changes"]:
        print(line)
    output.note(f"generation {answer['generation']} is in force")


def _act(
    context: typer.Context, route_id: str, what: str, wanted: Mapping[str, object], as_json: bool
) -> None:
    from controlplane.cli.client import json_body

    answer = connect(context).send("POST", path_of(ROUTES, route_id, what), body=json_body(wanted))
    tell(answer, as_json)
