"""The commands `routes gray` and `routes match`: both take a small language apart."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.paths import path_of
from controlplane.cli.routes import MATCH, ROUTES, IdArgument, tell
from controlplane.domain.errors import Invalid


class By(StrEnum):
    """What a gray release goes by."""

    USER = "user"
    REQUEST = "request"
    HEADER = "header"
    GATEWAYS = "gateways"


def register(app: typer.Typer) -> None:
    """Add the commands to the group `routes`."""
    app.command("gray")(start_gray)
    app.command("match")(match_request)


def start_gray(
    context: typer.Context,
    route_id: IdArgument,
    by: Annotated[By, typer.Option("--by", help="What it goes by.")] = By.USER,
    steps: Annotated[
        str,
        typer.Option(
            "--steps",
            help="Shares or gateway groups, each with the seconds it lasts: 1%:300,5%:300,20% "
            "or edge:600,edge+inner. A step without seconds waits for `routes step`.",
        ),
    ] = "1%:300,5%:300,20%:300",
    header: Annotated[
        str | None, typer.Option("--header", help="NAME=VALUE that testers send, by header.")
    ] = None,
    most_errors: Annotated[
        float, typer.Option("--most-errors", min=0, max=1, help="Error ratio that shuts the gate.")
    ] = 0.01,
    most_response_ms: Annotated[
        float | None,
        typer.Option("--most-response-ms", min=0.001, help="Mean response time that shuts it."),
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put a draft in force for a part of the traffic, and more of it step by step."""
    from controlplane.cli.client import json_body

    wanted: dict[str, object] = {
        "by": by.value,
        "steps": [_step(part, by) for part in steps.split(",")] if by is not By.HEADER else [{}],
        "header": None
        if header is None
        else dict(zip(("name", "value"), _pair(header), strict=True)),
        "gate": {"most_error_ratio": most_errors, "most_response_time_ms": most_response_ms},
        "reason": reason,
    }
    path = path_of(ROUTES, route_id, ":gray")
    tell(connect(context).send("POST", path, body=json_body(wanted)), as_json)


def _step(text: str, by: By) -> dict[str, object]:
    """`5%:300` or `edge+inner:300` as the API's step."""
    what, _, seconds = text.strip().partition(":")
    try:
        step: dict[str, object] = {"hold_s": float(seconds)} if seconds else {}
        if by is By.GATEWAYS:
            return {**step, "gateways": what.split("+")}
        if not what.endswith("%"):
            raise ValueError(what)
        return {**step, "share": round(float(what[:-1]) / 100, 4)}
    except ValueError as error:
        raise Invalid(
            "option_invalid", f"--steps has {text!r}; give 5%:300, or edge+inner:300 by gateways"
        ) from error


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise Invalid("option_invalid", f"--header is {text!r}; give NAME=VALUE")
    return name.strip(), value.strip()


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
    """Tell which route a request gets, why, and which would be next."""
    from controlplane.cli.client import json_body

    wanted = {
        **_address(url),
        "method": method.upper(),
        "headers": dict(_pair(each) for each in header or ()),
        "source": source,
        "gateway": gateway,
        "draft": draft,
    }
    answer = connect(context).send("POST", MATCH, body=json_body(wanted))
    if as_json:
        output.emit(answer)
    else:
        _show(answer)


def _address(url: str) -> dict[str, str]:
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
