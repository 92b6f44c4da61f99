"""report.json beside a model's files, and inside the zip of an upload.

Called by training, by the shelf of models and by the command line. A report names its model; one
of another model is refused.
"""

from pathlib import Path

from models import files, storage
from models.errors import ArtifactError
from models.reports.encoding import MAX_BYTES, decode, encode
from models.reports.report import Report


def files_of(directory: Path) -> tuple[Path, ...]:
    """The files of a version and its report, there or not."""
    return tuple(directory / name for name in (files.JSON_NAME, files.NPZ_NAME, files.REPORT_NAME))


def save(report: Report, directory: Path) -> None:
    """Write report.json into a directory that `storage.save` made."""
    partial = directory / f"{files.REPORT_NAME}.partial"
    partial.write_bytes(encode(report))
    partial.replace(directory / files.REPORT_NAME)


def load(directory: Path, digest: str) -> Report | None:
    """The report of the model `digest` in this directory; None when there is none.

    Raises:
        ArtifactError: it is damaged, or of another model.
    """
    path = directory / files.REPORT_NAME
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_BYTES:
        raise ArtifactError(f"{path} is larger than {MAX_BYTES} bytes: it is no report of ours")
    return _checked(path.read_bytes(), digest)


def enclosed(body: bytes, digest: str) -> Report | None:
    """The report in an upload of the model `digest`; None when there is none.

    Raises:
        ArtifactError: as `load`.
    """
    found = files.enclosed_report(body)
    return None if found is None else _checked(found, digest)


def pack(directory: Path, schema_digest: str) -> bytes:
    """The upload of a trained version: its model and, if there is one, its report.

    Raises:
        ArtifactError: as `storage.load` and `load`.
    """
    artifact = storage.load(directory, schema_digest)
    report = load(directory, artifact.digest)
    body = storage.to_bytes(artifact)
    return body if report is None else enclose(report, body)


def enclose(report: Report, upload: bytes) -> bytes:
    """Put a report into an upload that `storage.to_bytes` made."""
    return files.with_report(upload, encode(report))


def _checked(body: bytes, digest: str) -> Report:
    report = decode(body)
    if report.model != digest:
        raise ArtifactError(
            f"report.json is about model {report.model[:12]}, not {digest[:12]}: the files were "
            "mixed up, copy all of them again"
        )
    return report
