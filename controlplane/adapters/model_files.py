"""The shelf of models: one directory per digest with model.json and model.npz, and report.json.

The SQL registry puts and gets here; wiring joins the two. What is written is on disk before
`put` returns. Nothing is trusted on the way back: a file that was changed is refused.
"""

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.ports.learning import StoredModel
from models import storage
from models.artifact import ModelArtifact, canonical
from models.errors import ArtifactError
from models.files import JSON_NAME, NPZ_NAME, REPORT_NAME
from models.reports import keeping
from models.reports.report import Report
from models.reports.sheet import sheet

_INCOMING = ".incoming-"
_REASONS = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read_only",
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
}


class ModelFiles:
    """Models in `directory`; `learn` makes one ready to predict (adapters.predictor)."""

    def __init__(self, directory: Path, learn: Callable[[ModelArtifact], LearnedModel]) -> None:
        self._directory = directory
        self._learn = learn

    async def put(self, data: bytes, created_s: float) -> StoredModel:
        """Check an uploaded artifact and keep it; the same content is kept once.

        Raises:
            Invalid: `model_invalid`, it is damaged, too large or of another feature schema.
            Retryable: `store_unavailable`, the disk is full, read-only or failing.
        """
        return await asyncio.to_thread(self._put, data, created_s)

    async def get(self, digest: str) -> LearnedModel:
        """The model, ready to predict.

        Raises:
            Invalid: `model_damaged`, its files are gone or are no longer what was put.
            Retryable: `store_unavailable`.
        """
        return await asyncio.to_thread(self._get, digest)

    async def sheet(self, digest: str) -> str:
        """What a report shows of the model: `models.reports.sheet` as JSON text.

        A report that is damaged is left out, and the sheet says so.

        Raises:
            Invalid: as `get`.
            Retryable: `store_unavailable`.
        """
        return await asyncio.to_thread(self._sheet, digest)

    def _put(self, data: bytes, created_s: float) -> StoredModel:
        try:
            artifact = storage.from_bytes(data, SCHEMA_DIGEST)
            report = keeping.enclosed(data, artifact.digest)
        except ArtifactError as error:
            raise Invalid("model_invalid", f"the uploaded model is refused: {error}") from error
        with _disk_errors(self._directory):
            if not self._intact(artifact.digest):
                self._write(artifact, report)
            elif report is not None and not self._has_report(artifact.digest):
                keeping.save(report, self._place(artifact.digest))
            description = self._place(artifact.digest).joinpath(JSON_NAME).read_text("utf-8")
        return StoredModel(
            digest=artifact.digest,
            service=artifact.service,
            created_s=created_s,
            description=description,
        )

    def _get(self, digest: str) -> LearnedModel:
        return self._learn(self._read(digest))

    def _sheet(self, digest: str) -> str:
        artifact = self._read(digest)
        report: Report | None = None
        missing: tuple[str, ...] = ()
        try:
            with _disk_errors(self._directory):
                report = keeping.load(self._place(digest), digest)
        except ArtifactError as error:
            missing = (f"The report cannot be read: {error}.",)
        return canonical(sheet(artifact, report, missing)).decode()

    def _read(self, digest: str) -> ModelArtifact:
        try:
            with _disk_errors(self._directory):
                artifact = storage.load(self._place(digest), SCHEMA_DIGEST)
        except ArtifactError as error:
            raise Invalid(
                "model_damaged",
                f"model {digest[:12]} cannot be used: {error}. Upload it again",
                {"digest": digest},
            ) from error
        if artifact.digest != digest:
            raise Invalid(
                "model_damaged",
                f"the files of model {digest[:12]} hold model {artifact.digest[:12]}: upload the "
                "wanted one again",
                {"digest": digest},
            )
        return artifact

    def _place(self, digest: str) -> Path:
        return self._directory / digest

    def _intact(self, digest: str) -> bool:
        try:
            return storage.load(self._place(digest), SCHEMA_DIGEST).digest == digest
        except ArtifactError:
            return False

    def _has_report(self, digest: str) -> bool:
        try:
            return keeping.load(self._place(digest), digest) is not None
        except ArtifactError:
            return False

    def _write(self, artifact: ModelArtifact, report: Report | None) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        incoming = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=self._directory))
        try:
            storage.save(artifact, incoming)
            names = [NPZ_NAME, JSON_NAME]
            if report is not None:
                keeping.save(report, incoming)
                names.append(REPORT_NAME)
            for path in (*(incoming / name for name in names), incoming):
                _sync(path)
            place = self._place(artifact.digest)
            # Only damaged files are in the way here.
            shutil.rmtree(place, ignore_errors=True)
            incoming.rename(place)
            _sync(self._directory)
        except BaseException:
            shutil.rmtree(incoming, ignore_errors=True)
            raise


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, "io_error")
        raise Retryable(
            "store_unavailable",
            f"models cannot be read or written in {directory} ({error}): check space, mount and "
            "owner, then repeat the call",
            {"reason": reason},
        ) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
