"""Commands about models: list, train, promote.

Training runs in a process of its own (`python -m training`) with its own progress bar; what it
wrote is checked here and registered by the API.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, ReasonOption, connect
from controlplane.cli.processes import run_module
from controlplane.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from controlplane.cli.client import Client

MODELS = "/v1/models"
DATASET = "/v1/services/{service}/dataset"
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
    if as_json:
        output.emit(models)
        return
    output.table(
        ("DIGEST", "SERVICE", "CREATED", "ALIASES"),
        (
            (
                output.short(m["digest"]),
                m["service"],
                output.when(m["created"]),
                " ".join(m["aliases"]) or None,
            )
            for m in models
        ),
    )


@app.command()
def promote(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service for which it shall decide.")],
    digest: Annotated[str, typer.Argument(help="The model's digest, or its first characters.")],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put a registered model in service, from the next cycle on."""
    client = connect(context)
    whole = _whole_digest(client.items(MODELS, {"service": service}), service, digest)
    _show(_promoted(client, service, whole, reason), as_json)


@app.command()
def train(
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service whose data set is used.")],
    settings: Annotated[
        str | None,
        typer.Option(help="Named training settings (`python -m training train --help`)."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Use samples since then: RFC 3339; all when left out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep data set and model in this folder.")
    ] = None,
    promote_it: Annotated[
        bool, typer.Option("--promote", help="Put the model in service at once.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Train a model on a service's data set in a process of its own, and register it."""
    from controlplane.cli.client import Body

    client = connect(context)
    with _folder(out) as folder:
        data = folder / "dataset.csv"
        _fetch(client, service, since, data)
        _train(service, data, folder, [*_declared(client, service), *_option("settings", settings)])
        body = Body(content=_packed(folder), media_type="application/octet-stream")
    model = client.send("POST", MODELS, body=body, params={"reason": reason or None})
    output.note(f"model {output.short(model['digest'])} is registered")
    if promote_it:
        model = _promoted(client, service, model["digest"], reason)
    _show(model, as_json)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="signalbox-train-") as name:
        yield Path(name)


def _fetch(client: "Client", service: str, since: str | None, data: Path) -> None:
    from urllib.parse import quote

    path = DATASET.format(service=quote(service, safe=""))
    with data.open("wb") as file:
        for piece in client.download(path, "text/csv", {"since": since}):
            file.write(piece)
    with data.open("rb") as file:
        rows = max(0, sum(1 for _ in file) - 1)
    output.note(f"{rows} rows of {service} fetched")


def _declared(client: "Client", service: str) -> list[str]:
    """What the fleet says about both data centres, as options of training, primary first."""
    fleet = client.get("/v1/fleet")
    clusters = [
        cluster
        for declared in fleet["services"]
        if declared["name"] == service
        for cluster in declared["clusters"]
    ]
    options: list[str] = []
    for name in ("servers", "idle_cpu", "full_cpu"):
        values = [cluster.get(name) for cluster in clusters[:2]]
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
    from models.storage import load, to_bytes

    try:
        return to_bytes(load(folder, SCHEMA_DIGEST))
    except ArtifactError as error:
        raise Invalid(
            "model_invalid", f"training wrote a model that is refused: {error}"
        ) from error


def _promoted(client: "Client", service: str, digest: str, reason: str) -> Mapping[str, Any]:
    from controlplane.cli.client import json_body

    body = json_body({"service": service, "reason": reason})
    promoted: Mapping[str, Any] = client.send("POST", f"{MODELS}/{digest}:promote", body=body)
    output.note(f"model {output.short(digest)} decides for {service} from the next cycle on")
    return promoted


def _whole_digest(models: Sequence[Mapping[str, Any]], service: str, prefix: str) -> str:
    found = sorted({str(m["digest"]) for m in models if str(m["digest"]).startswith(prefix)})
    if len(found) == 1 and len(prefix) >= SHORTEST_PREFIX:
        return found[0]
    if not found:
        raise NotFound("model_not_found", f"service {service} has no model {prefix}")
    raise Invalid(
        "model_digest_ambiguous",
        f"{len(found)} models begin with {prefix!r}; give at least {SHORTEST_PREFIX} characters "
        "and enough to tell one",
    )


def _show(model: Mapping[str, Any], as_json: bool) -> None:
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
