"""A report as canonical JSON, and back; what comes from outside is checked against the types."""

import dataclasses

from models import typed
from models.artifact import canonical
from models.errors import ArtifactError
from models.reports.report import Report

FORMAT = 1
# Five strategies' figures and points are 150 KiB.
MAX_BYTES = 512 * 1024


def encode(report: Report) -> bytes:
    """The bytes of report.json; the same report gives the same bytes.

    Raises:
        ArtifactError: a number is not finite.
    """
    return canonical({"format": FORMAT, **dataclasses.asdict(report)})


def decode(body: bytes) -> Report:
    """Read what `encode` wrote.

    Raises:
        ArtifactError: too large, no JSON, of another format, or a value has another type.
    """
    if len(body) > MAX_BYTES:
        raise ArtifactError(f"report.json has {len(body)} bytes, at most {MAX_BYTES} allowed")
    try:
        content = typed.loaded(body)
        if content["format"] != FORMAT:
            raise ArtifactError(f"report.json has format {content['format']!r}, not {FORMAT}")
        report: Report = typed.read(Report, content, "report")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, ArtifactError):
            raise
        raise ArtifactError(f"report.json does not describe a report: {error!r}") from error
    return report
