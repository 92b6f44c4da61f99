"""The command `routes gray`, with its small language of steps: `1%:300,5%:300,20%`."""

from typing import Annotated

import typer

from controlplane.cli.commands.routes.group import ROUTES, IdArgument
from controlplane.cli.commands.routes.words import tell
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.headers import header_of
from controlplane.cli.paths import path_of
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.life.release import GrayBy


def register(app: typer.Typer) -> None:
    """Add the command to the group `routes`."""
    app.command("gray")(start_gray)


def start_gray(
    context: typer.Context,
    route_id: IdArgument,
    by: Annotated[GrayBy, typer.Option("--by", help="What it goes by.")] = GrayBy.USER,
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
    """Put a draft in force for a part of the traffic.

    More of it gets the new route step by step.
    """
    from controlplane.cli.client import json_body

    wanted: dict[str, object] = {
        "by": by.value,
        "steps": [_step(part, by) for part in steps.split(",")]
        if by is not GrayBy.HEADER
        else [{}],
        "header": None
        if header is None
        else dict(zip(("name", "value"), header_of(header), strict=True)),
        "gate": {"most_error_ratio": most_errors, "most_response_time_ms": most_response_ms},
        "reason": reason,
    }
    path = path_of(ROUTES, route_id, ":gray")
    tell(connect(context).send("POST", path, body=json_body(wanted)), as_json)


def _step(text: str, by: GrayBy) -> dict[str, object]:
    """`5%:300` or `edge+inner:300` as the API's step."""
    what, _, seconds = text.strip().partition(":")
    try:
        step: dict[str, object] = {"hold_s": float(seconds)} if seconds else {}
        if by is GrayBy.GATEWAYS:
            return {**step, "gateways": what.split("+")}
        if not what.endswith("%"):
            raise ValueError(what)
        return {**step, "share": round(float(what[:-1]) / 100, 4)}
    except ValueError as error:
        raise Invalid(
            "option_invalid", f"--steps has {text!r}; give 5%:300, or edge+inner:300 by gateways"
        ) from error
