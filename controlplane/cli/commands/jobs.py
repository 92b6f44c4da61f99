"""Commands about training jobs: list, show, cancel; and the bar of one that is waited for."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.paths import path_of
from controlplane.domain.errors import ControlPlaneError, Invalid

if TYPE_CHECKING:
    from controlplane.cli.client import Client

JOBS = "/v1/jobs"
OPEN = ("queued", "running")
POLL_S = 0.3

app = typer.Typer(help="Jobs: trainings that wait, run or have ended.", no_args_is_help=True)


@app.command("list")
def list_jobs(
    context: typer.Context,
    service: Annotated[str | None, typer.Option(help="Of this service only.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many at most.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the newest jobs."""
    found = connect(context).items(JOBS, {"service": service, "limit": limit})
    output.listing(
        found,
        as_json,
        ("ID", "SERVICE", "TRIGGER", "STATE", "PROGRESS", "CREATED", "RESULT", "MESSAGE"),
        lambda job: (
            job["id"],
            job["service"],
            job["trigger"],
            job["state"],
            output.percent(job["progress"]),
            output.when(job["created"]),
            output.short(job["result"]),
            output.clipped(job["message"], 60),
        ),
    )


@app.command("show")
def show_job(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(help="The job's id.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until it has ended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one job."""
    client = connect(context)
    job = client.get(path_of(JOBS, job_id))
    show(followed(client, job) if wait else job, as_json)


@app.command()
def cancel(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(help="The job's id.")],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """End a job that waits or runs; nothing of it is kept."""
    from controlplane.cli.client import json_body

    body = json_body({"reason": reason})
    show(connect(context).send("POST", path_of(JOBS, job_id, ":cancel"), body=body), as_json)


def show(job: Mapping[str, Any], as_json: bool) -> None:
    """Print one job."""
    if as_json:
        output.emit(job)
        return
    output.facts(
        (
            ("job", job["id"]),
            ("service", job["service"]),
            ("trigger", job["trigger"]),
            ("state", job["state"]),
            ("progress", output.percent(job["progress"])),
            ("message", job["message"] or None),
            ("author", job["author"]),
            ("reason", job["reason"] or None),
            ("rows", job["rows"] or None),
            ("created", output.when(job["created"])),
            ("started", output.when(job["started"])),
            ("ended", output.when(job["ended"])),
            ("model", output.short(job["result"])),
            ("error", job["error"] or None),
        )
    )


def followed(client: "Client", job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Wait for a job with a progress bar on standard error; the job at its end.

    Raises:
        Invalid: it failed. ControlPlaneError: it was cancelled.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.fields[state]:>9}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1.0, state=job["state"], words="")
        while True:
            bar.update(task, completed=job["progress"], state=job["state"], words=job["message"])
            if job["state"] not in OPEN:
                break
            time.sleep(POLL_S)
            job = client.get(path_of(JOBS, job["id"]))
    if job["state"] == "failed":
        raise Invalid("job_failed", f"job {job['id']} failed ({job['error']}): {job['message']}")
    if job["state"] == "cancelled":
        raise ControlPlaneError("job_cancelled", f"job {job['id']} was {job['message']}")
    return job
