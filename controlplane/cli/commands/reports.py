"""Commands about what was measured: `models report`, `models card`, `models compare`.

The API makes the pages; a page is one file that needs no network. A digest may be given by its
first characters.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands.models import MODELS, whole_digest
from controlplane.cli.connection import JsonOption, connect
from controlplane.domain.errors import Invalid

if TYPE_CHECKING:
    from controlplane.cli.client import Client

Digest = Annotated[str, typer.Argument(help="The model's digest, or its first characters.")]
Out = Annotated[Path | None, typer.Option(help="Write the page with the plots to this file.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(report)
    app.command()(card)
    app.command()(compare)


def report(
    context: typer.Context, digest: Digest, out: Out = None, as_json: JsonOption = False
) -> None:
    """Show how well a model predicts, by load; --out writes the whole report as a page."""
    client = connect(context)
    (path,) = _paths(client, digest)
    if out is not None:
        _save(client, f"{path}/report", out)
        return
    content = client.get(f"{path}/report")
    if as_json:
        output.emit(content)
        return
    (sheet,) = content["models"]
    for words in sheet["missing"]:
        output.note(words)
    _show_scores(sheet)


def card(context: typer.Context, digest: Digest, as_json: JsonOption = False) -> None:
    """Print the model card: purpose, data, scores, intervals, limits, the way back."""
    client = connect(context)
    (path,) = _paths(client, digest)
    if as_json:
        output.emit(client.get(f"{path}/card"))
    else:
        print(client.text(f"{path}/card", "text/markdown"), end="")


def compare(
    context: typer.Context,
    first: Digest,
    second: Digest,
    out: Out = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what is the same.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two models: where they come from, their laws, their scores."""
    client = connect(context)
    one, two = _paths(client, first, second)
    path = f"{one}/compare/{two.rpartition('/')[2]}"
    if out is not None:
        _save(client, path, out)
        return
    content = client.get(path)
    if as_json:
        output.emit(content)
        return
    output.table(
        ("GROUP", "NAME", "FIRST", "SECOND", "CHANGE"),
        (
            (
                line["group"],
                line["name"],
                _cell(line["before"]),
                _cell(line["after"]),
                None if line["change_pct"] is None else f"{line['change_pct']:+.1f} %",
            )
            for line in content["differences"]
            if everything or line["before"] != line["after"]
        ),
    )


def _paths(client: "Client", *prefixes: str) -> list[str]:
    """The address of each model."""
    models = client.items(MODELS)
    return [f"{MODELS}/{whole_digest(models, '', prefix)}" for prefix in prefixes]


def _save(client: "Client", path: str, out: Path) -> None:
    page = client.text(path, "text/html")
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise Invalid("out_unwritable", f"{out} cannot be written: {error.strerror}") from error
    output.note(f"{out} written: open it in a browser, it needs no network")


def _show_scores(sheet: Mapping[str, Any]) -> None:
    if sheet["report"] is None:
        output.facts((name, f"{value:.4g}") for name, value in sheet["scores"].items())
        return
    rows: Sequence[Sequence[object]] = [
        (
            predictor["name"],
            band["band"],
            band["rows"],
            *(f"{band[name]:.3g}" for name in ("mae_ms", "bias_ms", "mape_pct", "q95_ms")),
            None if band["r2"] is None else f"{band['r2']:.3f}",
            output.percent(band["coverage"]),
        )
        for predictor in sheet["report"]["predictors"]
        for band in predictor["scores"]
    ]
    columns = ("STRATEGY", "LOAD", "ROWS", "MAE ms", "BIAS ms", "MAPE %", "95 % ms", "R2", "COVER")
    output.table(columns, rows)


def _cell(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:.5g}"
    text = str(value)
    return output.short(text) if len(text) == 64 else text
