"""`signalbox models train`: as a job of the control plane, or in a process here (`--here`).

Either way the model is trained on what the service has reported and registered. Here, training
runs as `python -m training` with its own progress bar; what it wrote is checked and sent.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands import jobs
from controlplane.cli.commands.models import MODELS, promoted, show
from controlplane.cli.commands.processes import run_module
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.paths import path_of
from controlplane.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from controlplane.cli.client import Client

SERVICES = "/v1/services"
ONLY_HERE = "only with --here"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)


def train(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service whose data set is used.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until it has ended.")] = False,
    here: Annotated[
        bool, typer.Option("--here", help="Train in a process here, not where the service runs.")
    ] = False,
    settings: Annotated[
        str | None,
        typer.Option(help=f"Named training settings, {ONLY_HERE} (`python -m training train`)."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help=f"Samples since then (RFC 3339), {ONLY_HERE}.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Keep data set and model in this folder, {ONLY_HERE}.")
    ] = None,
    promote_it: Annotated[
        bool, typer.Option("--promote", help="Wait, then put the model in service at once.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Train a model on what a service has reported, and register it."""
    client = connect(context)
    if here:
        with _folder(out) as folder:
            model = _trained_here(client, service, folder, _options(settings, since), reason)
    elif settings or since or out:
        raise Invalid("option_invalid", f"--settings, --since and --out are {ONLY_HERE}")
    else:
        job = client.send("POST", path_of(SERVICES, service, ":train"), body=_body(reason))
        if not (wait or promote_it):
            jobs.show(job, as_json)
            return
        model = _trained_there(client, service, job)
    output.note(f"model {output.short(model['digest'])} is registered")
    if promote_it:
        model = promoted(client, service, model["digest"], reason)
    show(model, as_json)


def _trained_there(client: "Client", service: str, job: Mapping[str, Any]) -> Mapping[str, Any]:
    digest = jobs.followed(client, job)["result"]
    for model in client.items(MODELS, {"service": service}):
        if model["digest"] == digest:
            found: Mapping[str, Any] = model
            return found
    raise NotFound("model_not_found", f"service {service} has no model {digest}")


def _trained_here(
    client: "Client", service: str, folder: Path, options: Mapping[str, str | None], reason: str
) -> Mapping[str, Any]:
    from controlplane.cli.client import Body

    data = folder / "dataset.csv"
    _fetch(client, service, options["since"], data)
    chosen = [*_declared(client, service), *_option("settings", options["settings"])]
    _train(service, data, folder, chosen)
    body = Body(content=_packed(folder), media_type="application/octet-stream")
    model: Mapping[str, Any] = client.send(
        "POST", MODELS, body=body, params={"reason": reason or None}
    )
    return model


def _options(settings: str | None, since: str | None) -> Mapping[str, str | None]:
    return {"settings": settings, "since": since}


def _body(reason: str) -> Any:
    from controlplane.cli.client import json_body

    return json_body({"reason": reason})


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="signalbox-train-") as name:
        yield Path(name)


def _fetch(client: "Client", service: str, since: str | None, data: Path) -> None:
    with data.open("wb") as file:
        for piece in client.download(
            path_of(SERVICES, service, "/dataset"), "text/csv", {"since": since}
        ):
            file.write(piece)
    with data.open("rb") as file:
        rows = max(0, sum(1 for _ in file) - 1)
    output.note(f"{rows} rows of {service} fetched")


def _declared(client: "Client", service: str) -> list[str]:
    """What the fleet says about its data centres, as options of training, primary first."""
    fleet = client.get("/v1/fleet")
    clusters = [
        cluster
        for declared in fleet["services"]
        if declared["name"] == service
        for cluster in declared["clusters"]
    ]
    options: list[str] = []
    for name in ("servers", "idle_cpu", "full_cpu"):
        values = [cluster.get(name) for cluster in clusters]
        if any(value is not None for value in values):
            given = ",".join("" if value is None else str(value) for value in values)
            options += _option(name.replace("_", "-"), given)
    return options


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [f"--{name}", value]


def _train(service: str, data: Path, folder: Path, options: Sequence[str]) -> None:
    """Run training with our terminal; its exit code is ours when it fails."""
    required = ["--data", str(data), "--service", service, "--out", str(folder)]
    code = run_module("training", ["train", *required, *options])
    if code != 0:
        raise typer.Exit(code)


def _packed(folder: Path) -> bytes:
    """The trained artifact as one body, after the same checks that the server makes."""
    from controlplane.domain.features import SCHEMA_DIGEST
    from models.errors import ArtifactError
    from models.reports import keeping

    try:
        return keeping.pack(folder, SCHEMA_DIGEST)
    except ArtifactError as error:
        raise Invalid(
            "model_invalid", f"training wrote a model that is refused: {error}"
        ) from error
