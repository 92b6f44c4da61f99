"""The commands `routes ...`: single routes through their lives, and which one a request gets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, ReasonOption, connect
from controlplane.cli.failures import in_file
from controlplane.cli.fleet import FileOption, read_text
from controlplane.cli.paths import path_of
from controlplane.domain.errors import Invalid, NotFound

ROUTES = "/v1/routes"
LIST = "/v1/routes:list"
REVISIONS = "/v1/routes:revisions"
MATCH = "/v1/routes:match"
MOST_BYTES = 1_000_000

app = typer.Typer(help="Routes: their lives, and which one a request gets.", no_args_is_help=True)

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
    as_json: JsonOption = False,
) -> None:
    """List routes, drafts and retired ones too."""
    found = connect(context).whole(LIST, {"life": None if life is None else life.value})
    if as_json:
        output.emit(found)
        return
    output.table(
        ("ID", "LIFE", "HOSTS", "METHODS", "MATCH", "PATH", "ACTION", "ASKS", "GRAY"),
        (_row(one) for one in found["items"]),
    )


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
        None if gray is None else f"{_step(gray)}, {gray['verdict'] or 'wait'}",
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
    if "valid_until" in route:
        yield f"until {output.when(route['valid_until'])}"


def _step(gray: Mapping[str, Any]) -> str:
    step = gray["steps"][gray["step"]]
    part = " ".join(step["gateways"]) or output.percent(step["share"])
    return f"{gray['by']} {part} ({gray['step'] + 1} of {len(gray['steps'])})"


@app.command("show")
def show_route(context: typer.Context, route_id: IdArgument, as_json: JsonOption = False) -> None:
    """Show a route: what is published, what is on its way, and how its gray release goes."""
    found = connect(context).get(path_of(ROUTES, route_id))
    if as_json:
        output.emit(found)
        return
    _show(found)
    for name in ("published", "draft"):
        if found[name] is not None:
            print(f"\n{name}:")
            output.emit(found[name])


@app.command("write")
def write_route(
    context: typer.Context,
    route_id: IdArgument,
    file: FileOption,
    publish: Annotated[bool, typer.Option("--publish", help="Also put it in force.")] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Keep the route of FILE, as it stands in a fleet file, as a draft."""
    from controlplane.cli.client import Body

    body = Body(content=read_text(file, MOST_BYTES).encode(), media_type="application/yaml")
    params = {"reason": reason or None, "publish": "true" if publish else None}
    with in_file(str(file)):
        answer = connect(context).send("PUT", path_of(ROUTES, route_id), body=body, params=params)
    tell(answer, as_json)


@app.command("diff")
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
    changes = list(_changes(before or {}, after or {}))
    if not changes:
        output.note("no difference")
    for name, old, new in changes:
        print(f"{name}: {old} -> {new}")


def _revision(found: Sequence[Mapping[str, Any]], number: int) -> tuple[Any, Any]:
    for one in found:
        if one["number"] == number:
            forms = (json.loads(one[name]) if one[name] else None for name in ("before", "after"))
            return tuple(forms)  # type: ignore[return-value]
    raise NotFound("revision_not_found", f"the route has no revision {number}")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield name, json.dumps(before.get(name)), json.dumps(after.get(name))


@app.command("history")
def history(
    context: typer.Context,
    route_id: Annotated[str | None, typer.Argument(help="Of all routes if left out.")] = None,
    limit: LimitOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List publications: who, when, why; the newest first."""
    path = REVISIONS if route_id is None else path_of(ROUTES, route_id, "/revisions")
    found = connect(context).items(path, {"limit": limit})
    if as_json:
        output.emit(found)
        return
    output.table(
        ("REVISION", "TIME", "ROUTE", "EVENT", "AUTHOR", "GENERATION", "REASON"),
        (
            (
                one["number"],
                output.when(one["time"]),
                one["route"],
                one["event"],
                one["author"],
                one["generation"],
                output.clipped(one["reason"], 60),
            )
            for one in found
        ),
    )


@app.command("publish")
def publish_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put a draft, gray or retired route in force for all traffic, if its checks hold."""
    _act(context, route_id, ":publish", {"reason": reason}, as_json)


@app.command("retire")
def retire_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take a route away; its last form is kept and can be published again."""
    _act(context, route_id, ":retire", {"reason": reason}, as_json)


@app.command("stop")
def stop_gray(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Give all traffic of a gray release back to the old route; the new one is a draft again."""
    _act(context, route_id, ":stop", {"reason": reason}, as_json)


@app.command("step")
def step_gray(
    context: typer.Context,
    route_id: IdArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, help="Which one, from 1; else the next.")
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take a step of a gray release by hand, whatever its gate says."""
    wanted = {"reason": reason, "step": None if step is None else step - 1}
    _act(context, route_id, ":step", wanted, as_json)


@app.command("discard")
def discard_route(
    context: typer.Context,
    route_id: IdArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Drop a draft, or what is left of a retired route; a published one is retired."""
    params = {"reason": reason or None}
    answer = connect(context).send("DELETE", path_of(ROUTES, route_id), params=params)
    tell(answer, as_json)


@app.command("rollback")
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
    """Publish an earlier form of a route, or of the whole table, byte for byte."""
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


def tell(answer: Mapping[str, Any], as_json: bool) -> None:
    """Print what a change made of a route, and what it has to do with others."""
    if as_json:
        output.emit(answer)
        return
    _show(answer["route"])
    for conflict in answer["conflicts"]:
        output.note(f"note: {conflict['message']}")
    if not answer["changed"]:
        output.note("no difference")


def _show(route: Mapping[str, Any]) -> None:
    gray = route["gray"]
    output.facts(
        (
            ("route", route["id"]),
            ("life", route["life"]),
            ("author", route["author"] or None),
            ("changed", output.when(route["changed"])),
            *(
                ()
                if gray is None
                else (
                    ("gray", _step(gray)),
                    ("since", output.when(gray["since"])),
                    ("verdict", f"{gray['verdict'] or 'wait'}: {gray['reason'] or 'just begun'}"),
                )
            ),
        )
    )
