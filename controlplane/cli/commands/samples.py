"""The command `samples send`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, connect
from controlplane.cli.sample_file import batches, read_samples
from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Invalid

SAMPLES = "/v1/samples"
# Some millions of samples; they are all in memory before the first is sent.
MOST_BYTES = 500_000_000
# Below the API's own limit, and quick to answer.
BATCH = 5_000

app = typer.Typer(
    help="Samples: metrics of one data centre and service for one period.", no_args_is_help=True
)


@app.callback()
def group() -> None:
    """Samples: metrics of one data centre and service for one period."""


@app.command()
def send(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Option("--file", "-f", help="JSON lines, a JSON array, or CSV; - is standard input."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Send the samples of FILE; a bad one is reported with its number, the others count."""
    from controlplane.cli.client import json_body

    rows = read_samples(read_text(file, MOST_BYTES), str(file))
    client = connect(context)
    accepted, findings = 0, []
    for start, batch in batches(rows, BATCH):
        receipt = client.send("POST", SAMPLES, body=json_body({"samples": batch}))
        accepted += receipt["accepted"]
        findings += _numbered(receipt["findings"], start)
    if as_json:
        output.emit({"accepted": accepted, "findings": findings})
    else:
        output.note(f"{accepted} of {len(rows)} samples accepted")
    if findings:
        raise Invalid(
            "samples_refused",
            f"{len(findings)} of {len(rows)} samples are refused or suspicious (numbers count "
            "from 0)",
            {"errors": findings},
        )


def _numbered(findings: Sequence[dict[str, Any]], start: int) -> list[dict[str, Any]]:
    """Findings with the number of the sample in the whole file."""
    return [{**finding, "index": finding["index"] + start} for finding in findings]
