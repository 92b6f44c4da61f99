"""The command `routes match`: which route a request gets, and why."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, connect
from controlplane.cli.headers import header_of
from controlplane.domain.errors import Invalid

MATCH = "/v1/routes:match"


def register(app: typer.Typer) -> None:
    """Add the command to the group `routes`."""
    app.command("match")(match_request)


def match_request(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="URL, or path of a request.")],
    method: Annotated[str, typer.Option("--method", help="Its method.")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option("--header", help="NAME=VALUE; repeatable.")
    ] = None,
    source: Annotated[str, typer.Option("--source", help="Address of the client.")] = "",
    gateway: Annotated[
        str | None, typer.Option("--gateway", help="As this gateway group sees it.")
    ] = None,
    draft: Annotated[
        str | None, typer.Option("--draft", help="As if this route's draft were published.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell which route a request gets, and why.

    Also which would be next, and why the others lost.
    """
    from controlplane.cli.client import json_body

    wanted = {
        **address_of(url),
        "method": method.upper(),
        "headers": dict(header_of(each) for each in header or ()),
        "source": source,
        "gateway": gateway,
        "draft": draft,
    }
    answer = connect(context).send("POST", MATCH, body=json_body(wanted))
    if as_json:
        output.emit(answer)
    else:
        _show(answer)


def address_of(url: str) -> dict[str, str]:
    """Host and path of a request, as the API takes them; Invalid when it is no URL."""
    if url.startswith("/"):
        return {"path": url}
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Invalid("option_invalid", f"{url!r} is no URL: {error}") from error
    if not parts.netloc:
        raise Invalid("option_invalid", f"{url!r} is no URL; give http://host/path, or a path")
    query = f"?{parts.query}" if parts.query else ""
    return {"host": parts.netloc, "path": f"{parts.path or '/'}{query}"}


def _show(answer: Mapping[str, Any]) -> None:
    output.facts(
        (
            ("path", answer["path"]),
            ("route", answer["route"]),
            ("service", answer["service"] or None),
            *(() if answer["status"] is None else (("status", answer["status"]),)),
            ("because", answer["reason"]),
            ("host rule", answer["host"] or None),
            *answer["parameters"].items(),
            ("next", answer["next"]),
        )
    )
    if answer["losers"]:
        print()
        output.table(("ROUTE", "WHY NOT", "MISSING", "BEHIND THE WINNER BY"), _losers(answer))
    if answer["others"]:
        output.note(f"{answer['others']} more routes do not match its host or path")


def _losers(answer: Mapping[str, Any]) -> list[Sequence[object]]:
    return [
        (one["id"], one["why"], "; ".join(one["unmet"]) or None, one["before"] or None)
        for one in answer["losers"]
    ]
