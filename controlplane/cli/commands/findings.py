"""Commands about findings: what is wrong with which item, and how to have it all the same."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, connect
from controlplane.cli.paths import path_of

FINDINGS = "/v1/findings"

app = typer.Typer(
    help="Findings: what is wrong with which item, and what was held.", no_args_is_help=True
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="As `findings list` shows it.")]


@app.command("list")
def list_findings(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that were over lately.")
    ] = False,
    subject: Annotated[
        str | None, typer.Option(help="A word of the subject: `service/shop`.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the findings that stand."""
    state = "all" if everything else "standing"
    found = connect(context).items(FINDINGS, {"state": state, "subject": subject})
    if as_json:
        output.emit(found)
    elif not found:
        output.note("nothing is wrong")
    else:
        table(found)


@app.command("show")
def show_finding(
    context: typer.Context, finding_id: IdArgument, as_json: JsonOption = False
) -> None:
    """Show one finding: what, since when, what was held, how to force it."""
    _show(connect(context).get(path_of(FINDINGS, finding_id)), as_json)


@app.command("force")
def force_finding(
    context: typer.Context,
    finding_id: IdArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why it is wrong, for the audit log.")],
    as_json: JsonOption = False,
) -> None:
    """Take for true what is held because of a finding, until it is over or for an hour."""
    from controlplane.cli.client import json_body

    body = json_body({"reason": reason})
    _show(
        connect(context).send("POST", path_of(FINDINGS, finding_id, ":force"), body=body), as_json
    )
    output.note("what was held is taken for true")


def table(found: Sequence[Mapping[str, Any]]) -> None:
    """One line for each finding."""
    output.table(
        ("FINDING", "SEVERITY", "SINCE", "CODE", "SUBJECT", "OVER", "MESSAGE"),
        (
            (
                one["id"],
                one["severity"],
                output.when(one["since"]),
                one["code"],
                one["subject"],
                output.when(one["cleared"]),
                output.clipped(one["message"], 80),
            )
            for one in found
        ),
    )


def _show(finding: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.emit(finding)
        return
    output.facts(
        (
            ("finding", finding["id"]),
            ("code", finding["code"]),
            ("subject", finding["subject"]),
            ("severity", finding["severity"]),
            ("since", output.when(finding["since"])),
            ("over", output.when(finding["cleared"])),
            ("message", finding["message"]),
            ("held", finding["held"] or None),
            ("force", finding["force"] or None),
        )
    )
