"""Commands about models: list, promote, roll back, and the log of it.

`train` has a module of its own, `training`; report, card and compare are in `reports`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, ReasonOption, connect
from controlplane.cli.paths import path_of
from controlplane.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from controlplane.cli.client import Client

MODELS = "/v1/models"
SERVICES = "/v1/services"
SHORTEST_PREFIX = 6

app = typer.Typer(help="Models: what was trained, and which one decides.", no_args_is_help=True)


@app.command("list")
def list_models(
    context: typer.Context,
    service: Annotated[str | None, typer.Option(help="Of this service only.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List registered models, newest first."""
    models = connect(context).items(MODELS, {"service": service})
    output.listing(
        models,
        as_json,
        ("DIGEST", "SERVICE", "CREATED", "ALIASES"),
        lambda m: (
            output.short(m["digest"]),
            m["service"],
            output.when(m["created"]),
            " ".join(m["aliases"]) or None,
        ),
    )


@app.command()
def promote(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service for which it shall decide.")],
    digest: Annotated[str, typer.Argument(help="The model's digest, or its first characters.")],
    reason: ReasonOption = "",
    force: Annotated[
        bool, typer.Option("--force", help="Also when its examination failed; needs --reason.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a registered model in service, from the next cycle on."""
    client = connect(context)
    whole = whole_digest(client.items(MODELS, {"service": service}), service, digest)
    show(promoted(client, service, whole, reason, force=force), as_json)


@app.command()
def promotions(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service whose log is shown.")],
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the promotion log of a service, newest first."""
    steps = connect(context).items(path_of(SERVICES, service, "/promotions"), {"limit": limit})
    output.listing(
        steps,
        as_json,
        ("TIME", "EVENT", "MODEL", "BEFORE", "AUTHOR", "REASON"),
        lambda s: (
            output.when(s["time"]),
            s["event"],
            output.short(s["model"]),
            output.short(s["before"]),
            s["author"],
            output.clipped(s["reason"], 80),
        ),
    )


@app.command()
def rollback(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service that goes back.")],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put the champion before the present one back in service."""
    from controlplane.cli.client import json_body

    body = json_body({"reason": reason})
    model = connect(context).send("POST", path_of(SERVICES, service, "/models:rollback"), body=body)
    output.note(f"model {output.short(model['digest'])} decides for {service} again")
    show(model, as_json)


def promoted(
    client: "Client", service: str, digest: str, reason: str, *, force: bool = False
) -> Mapping[str, Any]:
    """Put a registered model in service; the model as the API tells it."""
    from controlplane.cli.client import json_body

    body = json_body({"service": service, "reason": reason, "force": force})
    promoted: Mapping[str, Any] = client.send("POST", f"{MODELS}/{digest}:promote", body=body)
    output.note(f"model {output.short(digest)} decides for {service} from the next cycle on")
    return promoted


def whole_digest(models: Sequence[Mapping[str, Any]], service: str, prefix: str) -> str:
    """The digest that begins with `prefix`, of the models of a service ("" is any)."""
    found = sorted({str(m["digest"]) for m in models if str(m["digest"]).startswith(prefix)})
    if len(found) == 1 and len(prefix) >= SHORTEST_PREFIX:
        return found[0]
    if not found:
        whose = f"service {service} has no" if service else "there is no"
        raise NotFound("model_not_found", f"{whose} model {prefix}")
    raise Invalid(
        "model_digest_ambiguous",
        f"{prefix!r} is the beginning of {len(found)}; give at least {SHORTEST_PREFIX} characters "
        "of the digest and enough to tell one",
    )


def show(model: Mapping[str, Any], as_json: bool) -> None:
    """Print one model."""
    if as_json:
        output.emit(model)
    else:
        output.facts(
            (
                ("digest", model["digest"]),
                ("service", model["service"]),
                ("created", output.when(model["created"])),
                ("aliases", " ".join(model["aliases"]) or None),
            )
        )
