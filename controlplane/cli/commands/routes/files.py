"""The commands `routes import` and `routes export`: files of other formats."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands.fleet import MOST_BYTES, show_changes
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.failures import in_file
from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Invalid

IMPORT = "/v1/routes:import"
EXPORT = "/v1/routes:export"


class FileFormat(StrEnum):
    """How routes are written down."""

    OPENAPI = "openapi"
    HTTP_ROUTE = "httproute"
    CSV = "csv"


FormatOption = Annotated[
    FileFormat, typer.Option("--format", help="OpenAPI or Swagger, HTTPRoute, or CSV.")
]


HostsOption = Annotated[
    list[str] | None, typer.Option("--host", help="Instead of the file's hosts; repeatable.")
]
GatewaysOption = Annotated[
    list[str] | None, typer.Option("--gateway", help="Only on this group; repeatable.")
]
ServiceOption = Annotated[
    str, typer.Option("--service", help="Of routes whose file names none; of all of OpenAPI.")
]
WhitelistOption = Annotated[
    bool, typer.Option("--whitelist", help="Also refuse what is not listed on its hosts.")
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option("--channel", help="HEADER=VALUE: only that channel's requests; repeatable."),
]
CollectionOption = Annotated[
    str, typer.Option("--collection", help="Name that the routes come again under.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Also when it removes or moves a large share; audited.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the group `routes`."""
    app.command("import")(import_routes)
    app.command("export")(export_routes)


def import_routes(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file; - is standard input.")],
    form: FormatOption,
    service: ServiceOption = "",
    host: HostsOption = None,
    gateway: GatewaysOption = None,
    whitelist: WhitelistOption = False,
    channel: ChannelOption = None,
    collection: CollectionOption = "",
    dry_run: DryRunOption = False,
    force: ForceOption = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Add the routes of a file of another format.

    Those of the same ids are replaced, and a bad item is left out.
    """
    from controlplane.cli.client import Body

    params: dict[str, Any] = {
        "format": form.value,
        "service": service or None,
        "host": host or None,
        "gateway": gateway or None,
        "whitelist": "true" if whitelist else None,
        "channel": channel or None,
        "collection": collection or None,
        "dry_run": "true" if dry_run else None,
        "force": "true" if force else None,
        "reason": reason or None,
    }
    body = Body(content=read_text(file, MOST_BYTES).encode(), media_type="text/plain")
    with in_file(str(file)):
        answer = connect(context).send("POST", IMPORT, body=body, params=params)
        if as_json:
            output.emit(answer)
        else:
            _show(answer, str(file))
        if answer["findings"] or answer["held"]:
            raise _left_out(answer)


def export_routes(
    context: typer.Context,
    form: FormatOption,
    service: Annotated[str, typer.Option("--service", help="Only routes to this service.")] = "",
    host: Annotated[str, typer.Option("--host", help="Only routes of this host.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Print the declared routes as such a file.

    What it does not say goes to standard error.
    """
    params = {"format": form.value, "service": service or None, "host": host or None}
    answer = connect(context).get(EXPORT, params)
    if as_json:
        output.emit(answer)
        return
    sys.stdout.write(answer["document"])
    for note in answer["notes"]:
        output.note(f"{note['subject']}: {note['message']}")


def _show(answer: Mapping[str, Any], file: str) -> None:
    show_changes(answer["changes"])
    for note in answer["notes"]:
        times = f" ({note['count']} times)" if note["count"] > 1 else ""
        output.note(f"{file}:{note['line']}:{note['column']}: {note['message']}{times}")
    for conflict in answer["conflicts"]:
        output.note(f"note: {conflict['message']}")
    verb = "would be imported" if answer["dry_run"] else "imported"
    output.note(f"{answer['imported']} routes {verb}; generation {answer['generation']}")
    if answer["objection"]:
        output.note(f"import will refuse this unless forced: {answer['objection']}")


def _left_out(answer: Mapping[str, Any]) -> Invalid:
    held = [
        {"path": f"route/{one['route']}", "message": f"route {one['route']}: {one['reason']}"}
        for one in answer["held"]
    ]
    count = answer["finding_count"] + len(held)
    return Invalid(
        "routes_left_out",
        f"{count} fault(s): an item with one is left out, the other routes count",
        {"errors": [*answer["findings"], *held]},
    )
