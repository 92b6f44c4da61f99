"""The commands `routes diff` and `routes history`: what a route was, is and would be."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands.routes.group import ROUTES, IdArgument
from controlplane.cli.connection import JsonOption, LimitOption, connect
from controlplane.cli.paths import path_of
from controlplane.domain.errors import NotFound

REVISIONS = "/v1/routes:revisions"


def register(app: typer.Typer) -> None:
    """Add the commands to the group `routes`."""
    app.command("diff")(diff_route)
    app.command("history")(history)


def diff_route(
    context: typer.Context,
    route_id: IdArgument,
    revision: Annotated[
        int | None, typer.Option("--revision", min=1, help="What this revision changed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the draft would change, or what a revision changed."""
    client = connect(context)
    if revision is None:
        found = client.get(path_of(ROUTES, route_id))
        before, after = found["published"], found["draft"] or found["published"]
    else:
        before, after = _revision(client.items(path_of(ROUTES, route_id, "/revisions")), revision)
    if as_json:
        output.emit({"before": before, "after": after})
        return
    if before == after:
        output.note("no difference")
    elif not before or not after:
        sign, word = ("+", "new") if after else ("-", "gone")
        output.note(f"the whole route is {word}")
        output.members(after or before, f"{sign} ")
    else:
        output.differences(before, after)


def _revision(found: Sequence[Mapping[str, Any]], number: int) -> tuple[Any, Any]:
    for one in found:
        if one["number"] == number:
            forms = (json.loads(one[name]) if one[name] else None for name in ("before", "after"))
            return tuple(forms)  # type: ignore[return-value]
    raise NotFound("revision_not_found", f"the route has no revision {number}")


def history(
    context: typer.Context,
    route_id: Annotated[str | None, typer.Argument(help="Of all routes if left out.")] = None,
    limit: LimitOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List publications: who, when, why; the newest first."""
    path = REVISIONS if route_id is None else path_of(ROUTES, route_id, "/revisions")
    found = connect(context).items(path, {"limit": limit})
    output.listing(
        found,
        as_json,
        ("REVISION", "TIME", "ROUTE", "EVENT", "AUTHOR", "GENERATION", "REASON"),
        lambda one: (
            one["number"],
            output.when(one["time"]),
            one["route"],
            one["event"],
            one["author"],
            one["generation"],
            output.clipped(one["reason"], 60),
        ),
    )
