"""The command `audit`: who wrote what, when and why."""

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, LimitOption, connect

AUDIT = "/v1/audit"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(audit)


def audit(context: typer.Context, limit: LimitOption = 50, as_json: JsonOption = False) -> None:
    """Show who wrote what, when and why, newest first."""
    entries = connect(context).items(AUDIT, {"limit": limit})
    output.listing(
        entries,
        as_json,
        ("TIME", "AUTHOR", "ACTION", "SUBJECT", "REASON", "AFTER"),
        lambda e: (
            output.when(e["time"]),
            e["author"],
            e["action"],
            e["subject"] or None,
            e["reason"] or None,
            output.clipped(e["after"], 60),
        ),
    )
