"""Commands for an emergency: failover, drain, restore, pin, freeze, preset, rollback.

Each makes an intent of the kind that it is named after: its function says what this kind has of
its own, `register` which options it shares with others. Short on purpose: who types them has been
woken. `--dry-run` tells what would happen.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from controlplane.cli.commands.intents import INTENTS, ReturnOption
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.intent_words import show, show_forecast
from controlplane.domain.errors import Invalid

CenterArgument = Annotated[str, typer.Argument(help="The data centre.")]
ServiceArgument = Annotated[str, typer.Argument(help="The service.")]
ServiceOption = Annotated[str, typer.Option("--service", help="Of this service only.")]
ClusterOption = Annotated[str, typer.Option("--cluster", help="Only this cluster of it.")]
EndpointOption = Annotated[
    str, typer.Option("--endpoint", metavar="ADDRESS:PORT", help="Only this endpoint of it.")
]
OverOption = Annotated[
    float | None, typer.Option("--over", metavar="SECONDS", min=0.0, help="It takes so long.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Against a refusal; audited.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tell what would happen; change nothing.")
]
ForOption = Annotated[
    float | None, typer.Option("--for", metavar="SECONDS", min=1.0, help="Ends by itself then.")
]

# Annotation and default, by name; but for `dry_run` and `as_json` the name of a member of the body.
SHARED: dict[str, tuple[Any, object]] = {
    "force": (ForceOption, False),
    "expires_in_s": (ForOption, None),
    "return_s": (ReturnOption, None),
    "dry_run": (DryRunOption, False),
    "reason": (ReasonOption, ""),
    "as_json": (JsonOption, False),
}
EVERY_COMMAND = ("reason", "as_json")
# The same of what a preset counts; the name is that of a member of the preset.
NUMBERS: dict[str, tuple[Any, object]] = {
    "rate_rps": (
        Annotated[float | None, typer.Option("--rate", help="Requests per second.")],
        None,
    ),
    "concurrent": (
        Annotated[int | None, typer.Option("--concurrent", min=1, help="Requests at once.")],
        None,
    ),
    "waiting": (
        Annotated[int | None, typer.Option("--waiting", min=0, help="Further ones that wait.")],
        None,
    ),
}


def register(root: typer.Typer) -> None:
    """Add the commands."""
    for own, shared in (
        (failover, ("force", "expires_in_s", "return_s", "dry_run")),
        (drain, ("force", "expires_in_s", "return_s", "dry_run")),
        (restore, ("dry_run",)),
        (pin, ("expires_in_s", "dry_run")),
        (freeze, ("expires_in_s",)),
        (preset, ("expires_in_s", "dry_run")),
        (rollback, ("force", "expires_in_s", "dry_run")),
    ):
        root.command(own.__name__)(_command(own, (*shared, *EVERY_COMMAND)))


def failover(
    center: CenterArgument,
    service: ServiceOption = "",
    cluster: ClusterOption = "",
    endpoint: EndpointOption = "",
) -> dict[str, object]:
    """Take all traffic from a data centre, at once."""
    return {"target": _target(service, center, cluster, endpoint)}


def drain(
    center: CenterArgument,
    service: ServiceOption = "",
    cluster: ClusterOption = "",
    endpoint: EndpointOption = "",
    over_s: OverOption = None,
) -> dict[str, object]:
    """Take traffic from a data centre step by step."""
    return {"target": _target(service, center, cluster, endpoint), "over_s": over_s}


def restore(
    center: CenterArgument, service: ServiceOption = "", over_s: OverOption = None
) -> dict[str, object]:
    """Bring back, step by step, what failovers and drains took."""
    return {"target": _target(service, center), "return_s": over_s}


def pin(
    service: ServiceArgument,
    shares: Annotated[
        list[str], typer.Argument(metavar="DATACENTER=SHARE...", help="In proportion.")
    ],
) -> dict[str, object]:
    """Give a service a fixed split."""
    return {"target": _target(service), "shares": dict(map(_share, shares))}


def freeze(service: ServiceOption = "") -> dict[str, object]:
    """Stop automatic changes; of all services without --service."""
    return {"target": _target(service)}


def preset(
    name: Annotated[str, typer.Argument(help="rate_limit, circuit_break, waiting_room, or block.")],
    service: ServiceArgument,
    status: Annotated[int, typer.Option("--status", help="Of a block: 403 or 503.")] = 503,
    **numbers: float | None,
) -> dict[str, object]:
    """Limit or close a service; the numbers are for each gateway."""
    return {"target": _target(service), "preset": {"name": name, "status": status, **numbers}}


def rollback(
    revision: Annotated[int, typer.Argument(min=1, help="The revision that is published.")],
) -> dict[str, object]:
    """Publish an earlier revision, and hold it."""
    return {"revision": revision}


def _command(own: Callable[..., dict[str, object]], shared: tuple[str, ...]) -> Callable[..., None]:
    """The command of a kind: its own arguments and options, then those that it shares."""

    def ask(context: typer.Context, **given: Any) -> None:
        from controlplane.cli.client import json_body

        said = {name: given.pop(name) for name in shared}
        as_json, dry_run = said.pop("as_json"), said.pop("dry_run", False)
        body = json_body({"kind": own.__name__, **own(**given), **said})
        where, tell = (f"{INTENTS}:dryRun", show_forecast) if dry_run else (INTENTS, show)
        tell(connect(context).send("POST", where, body=body), as_json)

    ask.__doc__ = own.__doc__
    parameters = list(signature(own).parameters.values())
    counts = parameters[-1].kind is Parameter.VAR_KEYWORD
    options = {
        **(NUMBERS if counts else {}),
        **{name: SHARED[name] for name in SHARED if name in shared},
    }
    # Typer reads the options of a command from its signature.
    ask.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(
                one.replace(kind=Parameter.KEYWORD_ONLY)
                for one in parameters
                if one.kind is not Parameter.VAR_KEYWORD
            ),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for name, (kind, default) in options.items()
            ),
        ]
    )
    return ask


def _target(
    service: str, center: str = "", cluster: str = "", endpoint: str = ""
) -> dict[str, str]:
    return {"service": service, "datacenter": center, "cluster": cluster, "endpoint": endpoint}


def _share(word: str) -> tuple[str, float]:
    name, separator, value = word.partition("=")
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not (name and separator and share >= 0):
        raise Invalid("option_invalid", f"{word!r} is no share; give DATACENTER=NUMBER")
    return name, share
