"""Commands about outgoing webhooks: receivers, messages, dead letters."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, ReasonOption, connect
from controlplane.cli.declared import NameArgument, with_reason
from controlplane.cli.paths import path_of

WEBHOOKS = "/v1/webhooks"
DELIVERIES = "/v1/webhooks:deliveries"

app = typer.Typer(help="Webhooks: who is told of what.", no_args_is_help=True)


@app.command("list")
def list_webhooks(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the receivers."""
    found = connect(context).items(WEBHOOKS)
    output.listing(
        found,
        as_json,
        ("NAME", "URL", "EVENTS", "DISABLED"),
        lambda one: (
            one["name"],
            one["url"] or one["address"],
            ", ".join(one["events"]) or "all",
            one["disabled"] or None,
        ),
    )


@app.command("put")
def put_webhook(
    *,
    context: typer.Context,
    name: NameArgument,
    url: Annotated[str, typer.Argument(help="Of the receiver; the settings allow its origin.")],
    event: Annotated[
        list[str] | None, typer.Option("--event", help="Only this kind; may be repeated.")
    ] = None,
    renew_secret: Annotated[
        bool, typer.Option("--renew-secret", help="Make a new secret; the old one ends.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Declare a receiver, or change it; a secret that is made is printed, once."""
    body = {"url": url, "events": event or [], "renew_secret": renew_secret}
    answer = connect(context).send("PUT", path_of(WEBHOOKS, name), body=with_reason(body, reason))
    if as_json:
        output.emit(answer)
    elif answer["secret"]:
        output.note("the secret, not shown again:")
        print(answer["secret"])
    else:
        output.note(f"webhook {name} is changed, its secret is the same")


@app.command("test")
def send_test(context: typer.Context, name: NameArgument) -> None:
    """Send a message of the kind `test`."""
    message = connect(context).send("POST", path_of(WEBHOOKS, name, ":test"))
    output.note(f"message {message['id']} is on its way: signalbox webhooks deliveries")


@app.command("deliveries")
def list_deliveries(
    context: typer.Context,
    state: Annotated[
        str | None, typer.Option(help="Only these: waiting, delivered or dead.")
    ] = None,
    limit: LimitOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List messages, the newest first; dead ones are those that nobody took."""
    found = connect(context).items(DELIVERIES, {"state": state, "limit": limit})
    output.listing(
        found,
        as_json,
        ("ID", "CREATED", "WEBHOOK", "EVENT", "STATE", "TRIES", "ANSWER"),
        _row,
    )


@app.command("redeliver")
def redeliver(
    context: typer.Context,
    delivery_id: Annotated[
        str, typer.Argument(metavar="ID", help="As `webhooks deliveries` shows it.")
    ],
) -> None:
    """Try a message again from its beginning, under its own id."""
    connect(context).send("POST", path_of(DELIVERIES, delivery_id, ":redeliver"))
    output.note(f"message {delivery_id} is on its way")


@app.command("remove")
def remove(context: typer.Context, name: NameArgument, reason: ReasonOption = "") -> None:
    """Remove a receiver; what waits for it is dead."""
    connect(context).send("DELETE", path_of(WEBHOOKS, name), params={"reason": reason})
    output.note(f"webhook {name} is removed")


def _row(one: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        one["id"],
        output.when(one["created"]),
        one["webhook"],
        one["event"],
        one["state"],
        one["attempts"],
        output.clipped(one["words"] or str(one["answer"] or ""), 60),
    )
