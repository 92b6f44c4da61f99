"""The group `routes`, and its commands that read: `routes list` and `routes show`.

The others register themselves here: `life`, `gray_release`, `history`, `match`
and `files`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands.routes.words import show, step
from controlplane.cli.connection import JsonOption, connect
from controlplane.cli.paths import path_of

ROUTES = "/v1/routes"
LIST = "/v1/routes:list"

app = typer.Typer(help="Routes: their lives, and which one a request gets.", no_args_is_help=True)

# Of a time that is to come, and of one that is past.
_TIMES = {"valid_from": ("not before", "since"), "valid_until": ("until", "over since")}

IdArgument = Annotated[str, typer.Argument(help="The route's id.")]


class Life(StrEnum):
    """Where a route stands."""

    DRAFT = "draft"
    GRAY = "gray"
    FULL = "full"
    RETIRED = "retired"


@app.command("list")
def list_routes(
    context: typer.Context,
    life: Annotated[
        Life | None, typer.Option("--life", help="Only those that stand there.")
    ] = None,
    contains: Annotated[
        str, typer.Option("--contains", help="Only with this in id, host, path or service.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List routes, drafts and retired ones too."""
    wanted = {"life": None if life is None else life.value, "contains": contains or None}
    found = connect(context).whole(LIST, wanted)
    if as_json:
        output.emit(found)
        return
    output.table(
        ("ID", "LIFE", "HOSTS", "METHODS", "MATCH", "PATH", "ACTION", "ASKS", "GRAY"),
        (_row(one) for one in found["items"]),
    )


@app.command("show")
def show_route(context: typer.Context, route_id: IdArgument, as_json: JsonOption = False) -> None:
    """Show what is published and what is on its way.

    Also how a gray release goes.
    """
    found = connect(context).get(path_of(ROUTES, route_id))
    if as_json:
        output.emit(found)
        return
    show(found)
    for name in ("published", "draft"):
        if found[name] is not None:
            print(f"\n{name}:")
            output.emit(found[name])


def _row(one: Mapping[str, Any]) -> Sequence[object]:
    route = one["published"] if one["draft"] is None else one["draft"]
    path = route.get("path", {})
    gray = one["gray"]
    return (
        one["id"],
        one["life"],
        " ".join(route.get("hosts", ["*"])),
        " ".join(route.get("methods", [])) or None,
        path.get("type", "PathPrefix"),
        path.get("value", "/"),
        _action(route),
        " ".join(_asked(route)) or None,
        None if gray is None else f"{step(gray)}, {gray['verdict'] or 'wait'}",
    )


def _action(route: Mapping[str, Any]) -> str:
    if "redirect" in route:
        return f"redirect {route['redirect'].get('status', 302)}"
    if "response" in route:
        return f"answer {route['response'].get('status', 403)}"
    return str(route.get("service", ""))


def _asked(route: Mapping[str, Any]) -> Iterator[str]:
    """What a request must be like beside host, method and path."""
    yield from (one["name"] for one in route.get("conditions", []))
    yield from route.get("sources", [])
    yield from (one["name"] for one in route.get("functions", []))
    if "cohort" in route:
        yield "cohort"
    yield from (_time(word, route[key]) for key, word in _TIMES.items() if key in route)


def _time(words: tuple[str, str], value: str) -> str:
    """When a route begins or ends, in the word for what is to come or for what is past."""
    past = datetime.fromisoformat(value) <= datetime.now(UTC)
    return f"{words[past]} {output.when(value)}"
