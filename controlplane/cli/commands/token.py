"""Commands about tokens: create, list, revoke."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.paths import path_of
from controlplane.domain.access import AccessRole

TOKENS = "/v1/tokens"
DAY_S = 86_400.0
# The server refuses more than ten years.
MOST_DAYS = 3_650.0

app = typer.Typer(help="Tokens: who may do what.", no_args_is_help=True)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What or who will use it.")],
    role: Annotated[AccessRole, typer.Option(help="What it may do.")],
    days: Annotated[
        float | None,
        typer.Option(min=0.0, max=MOST_DAYS, help="Days until it expires; never when left out."),
    ] = None,
    node: Annotated[
        str | None, typer.Option(help="For ADS: the only node id that it speaks for.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="For ADS: the only gateway group that it speaks for.")
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Create a token; standard output has its secret and nothing else, this once."""
    from controlplane.cli.client import json_body

    expires = None
    if days is not None:
        expires = datetime.fromtimestamp(time.time() + days * DAY_S, UTC).isoformat()
    wanted = {
        "name": name,
        "role": role.value,
        "expires": expires,
        "node": node,
        "group": group,
        "reason": reason or None,
    }
    body = json_body({key: value for key, value in wanted.items() if value is not None})
    answer = connect(context).send("POST", TOKENS, body=body)
    if as_json:
        output.emit(answer)
        return
    output.note(f"token {answer['id']} for {name} ({role.value}); its secret is shown only now")
    print(answer["secret"])


@app.command("list")
def list_tokens(context: typer.Context, as_json: JsonOption = False) -> None:
    """List every token, without secrets."""
    tokens = connect(context).items(TOKENS)
    output.listing(
        tokens,
        as_json,
        ("ID", "NAME", "ROLE", "NODE", "GROUP", "CREATED", "EXPIRES", "REVOKED"),
        lambda t: (
            t["id"],
            t["name"],
            t["role"],
            t.get("node"),
            t.get("group"),
            output.when(t.get("created")),
            output.when(t.get("expires")),
            output.when(t.get("revoked")),
        ),
    )


@app.command()
def revoke(
    context: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """End a token at once."""
    path = path_of(TOKENS, token_id)
    answer = connect(context).send("DELETE", path, params={"reason": reason or None})
    if as_json:
        output.emit(answer if answer is not None else {"revoked": token_id})
    else:
        output.note(f"token {token_id} is revoked")
