"""Commands for an emergency: failover, drain, restore, pin, freeze, preset, rollback; `intents`.

Short on purpose: who types them has been woken. `--dry-run` tells what would happen.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.intent_words import show, show_forecast
from controlplane.cli.paths import path_of
from controlplane.domain.errors import Invalid

INTENTS = "/v1/intents"
PRESETS = ("rate_limit", "circuit_break", "block", "waiting_room")

CenterArgument = Annotated[str, typer.Argument(help="The data centre.")]
ServiceArgument = Annotated[str, typer.Argument(help="The service.")]
ServiceOption = Annotated[str, typer.Option("--service", help="Of this service only.")]
ClusterOption = Annotated[str, typer.Option("--cluster", help="Only this cluster of it.")]
EndpointOption = Annotated[
    str, typer.Option("--endpoint", metavar="ADDRESS:PORT", help="Only this endpoint of it.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Against a refusal; audited.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tell what would happen; change nothing.")
]
ForOption = Annotated[
    float | None, typer.Option("--for", metavar="SECONDS", min=1.0, help="Ends by itself then.")
]
ReturnOption = Annotated[
    float | None,
    typer.Option("--return-over", metavar="SECONDS", min=0.0, help="The way back takes so long."),
]

app = typer.Typer(help="What people and automation asked for, and undo.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.command("failover")(failover)
    root.command("drain")(drain)
    root.command("restore")(restore)
    root.command("pin")(pin)
    root.command("freeze")(freeze)
    root.command("preset")(preset)
    root.command("rollback")(rollback)
    root.add_typer(app, name="intents")


def failover(
    context: typer.Context,
    center: CenterArgument,
    service: ServiceOption = "",
    cluster: ClusterOption = "",
    endpoint: EndpointOption = "",
    force: ForceOption = False,
    lasting_s: ForOption = None,
    return_s: ReturnOption = None,
    dry_run: DryRunOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take all traffic from a data centre, at once."""
    wanted = {
        "kind": "failover",
        "target": _target(service, center, cluster, endpoint),
        "force": force,
        "expires_in_s": lasting_s,
        "return_s": return_s,
        "reason": reason,
    }
    _ask(context, wanted, dry_run, as_json)


def drain(
    context: typer.Context,
    center: CenterArgument,
    service: ServiceOption = "",
    cluster: ClusterOption = "",
    endpoint: EndpointOption = "",
    over_s: Annotated[
        float | None, typer.Option("--over", metavar="SECONDS", min=0.0, help="It takes so long.")
    ] = None,
    force: ForceOption = False,
    lasting_s: ForOption = None,
    return_s: ReturnOption = None,
    dry_run: DryRunOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take traffic from a data centre step by step."""
    wanted = {
        "kind": "drain",
        "target": _target(service, center, cluster, endpoint),
        "over_s": over_s,
        "force": force,
        "expires_in_s": lasting_s,
        "return_s": return_s,
        "reason": reason,
    }
    _ask(context, wanted, dry_run, as_json)


def restore(
    context: typer.Context,
    center: CenterArgument,
    service: ServiceOption = "",
    over_s: Annotated[
        float | None, typer.Option("--over", metavar="SECONDS", min=0.0, help="It takes so long.")
    ] = None,
    dry_run: DryRunOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Bring back, step by step, what failovers and drains took."""
    wanted = {
        "kind": "restore",
        "target": _target(service, center, "", ""),
        "return_s": over_s,
        "reason": reason,
    }
    _ask(context, wanted, dry_run, as_json)


def pin(
    context: typer.Context,
    service: ServiceArgument,
    shares: Annotated[
        list[str], typer.Argument(metavar="DATACENTER=SHARE...", help="In proportion.")
    ],
    lasting_s: ForOption = None,
    dry_run: DryRunOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Give a service a fixed split."""
    wanted = {
        "kind": "pin",
        "target": _target(service, "", "", ""),
        "shares": dict(_share(one) for one in shares),
        "expires_in_s": lasting_s,
        "reason": reason,
    }
    _ask(context, wanted, dry_run, as_json)


def freeze(
    context: typer.Context,
    service: ServiceOption = "",
    lasting_s: ForOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Stop automatic changes; of all services without --service."""
    wanted = {
        "kind": "freeze",
        "target": _target(service, "", "", ""),
        "expires_in_s": lasting_s,
        "reason": reason,
    }
    _ask(context, wanted, False, as_json)


def preset(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="circuit_break, or block.")],
    service: ServiceArgument,
    concurrent: Annotated[
        int | None, typer.Option("--concurrent", min=1, help="Requests at once, per gateway.")
    ] = None,
    waiting: Annotated[
        int | None, typer.Option("--waiting", min=0, help="Further ones that wait.")
    ] = None,
    rate_rps: Annotated[
        float | None, typer.Option("--rate", min=0.001, help="Of rate_limit: not built yet.")
    ] = None,
    status: Annotated[int, typer.Option("--status", help="Of a block: 403 or 503.")] = 503,
    lasting_s: ForOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Limit or close a service."""
    if name not in PRESETS:
        raise Invalid("option_invalid", f"there is no preset {name!r}; take circuit_break or block")
    wanted = {
        "kind": "preset",
        "target": _target(service, "", "", ""),
        "preset": {
            "name": name,
            "concurrent": concurrent,
            "waiting": waiting,
            "rate_rps": rate_rps,
            "status": status,
        },
        "expires_in_s": lasting_s,
        "reason": reason,
    }
    _ask(context, wanted, False, as_json)


def rollback(
    context: typer.Context,
    revision: Annotated[int, typer.Argument(min=1, help="The revision that is published.")],
    force: ForceOption = False,
    lasting_s: ForOption = None,
    dry_run: DryRunOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Publish an earlier revision, and hold it."""
    wanted = {
        "kind": "rollback",
        "revision": revision,
        "force": force,
        "expires_in_s": lasting_s,
        "reason": reason,
    }
    _ask(context, wanted, dry_run, as_json)


@app.command("list")
def list_intents(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that ended, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what stands, the latest first."""
    params = None if everything else {"standing": "true"}
    found = connect(context).items(INTENTS, params)
    if as_json:
        output.emit(found)
        return
    output.table(
        ("ID", "STATE", "TARGET", "SINCE", "EXPIRES", "AUTHOR", "DONE", "REASON"),
        (
            (
                one["id"],
                one["state"],
                _named(one["target"]),
                output.when(one["created"]),
                output.when(one["expires"]),
                one["author"],
                _done(one["progress"]),
                output.clipped(one["reason"], 60),
            )
            for one in found
        ),
    )


@app.command("show")
def show_intent(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="The intent's id.")],
    as_json: JsonOption = False,
) -> None:
    """Show one, and how far it is on each data plane."""
    show(connect(context).get(path_of(INTENTS, intent_id)), as_json)


@app.command("undo")
def undo(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="The intent's id.")],
    return_s: ReturnOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take one back; everything is then as it was without it."""
    from controlplane.cli.client import json_body

    body = json_body({"reason": reason, "return_s": return_s})
    show(connect(context).send("POST", path_of(INTENTS, intent_id, ":undo"), body=body), as_json)


def _ask(
    context: typer.Context, wanted: Mapping[str, object], dry_run: bool, as_json: bool
) -> None:
    from controlplane.cli.client import json_body

    where = f"{INTENTS}:dryRun" if dry_run else INTENTS
    answer = connect(context).send("POST", where, body=json_body(wanted))
    if dry_run:
        show_forecast(answer, as_json)
    else:
        show(answer, as_json)


def _target(service: str, center: str, cluster: str, endpoint: str) -> dict[str, str]:
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


def _named(target: Mapping[str, str]) -> str:
    words = (f"{kind}/{name}" for kind, name in target.items() if name)
    return " ".join(words) or "fleet"


def _done(progress: Sequence[Mapping[str, Any]]) -> str | None:
    nodes = sum(one["nodes"] for one in progress)
    return f"{sum(one['done'] for one in progress)}/{nodes}" if nodes else None
