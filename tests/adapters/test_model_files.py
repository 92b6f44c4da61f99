"""The shelf of models: whole files or none, refused when they were changed."""

import errno
import json
from pathlib import Path

import pytest

from controlplane.adapters import model_files
from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.domain.errors import Invalid, Retryable
from models import storage
from models.files import JSON_NAME, NPZ_NAME, REPORT_NAME
from models.reports import keeping
from tests.model_artifacts import artifact, upload
from tests.model_reports import report


@pytest.fixture
def shelf(tmp_path: Path) -> ModelFiles:
    return ModelFiles(tmp_path / "models", learned)


async def test_what_was_put_is_described_and_comes_back(shelf: ModelFiles, tmp_path: Path) -> None:
    stored = await shelf.put(upload(), 5.0)
    assert (stored.service, stored.created_s) == ("tickets", 5.0)
    assert json.loads(stored.description)["scores"] == {"validation_mae_ms": 1.25}
    assert (await shelf.get(stored.digest)).digest == stored.digest == artifact().digest
    assert sorted(p.name for p in (tmp_path / "models").iterdir()) == [stored.digest]
    assert await shelf.put(upload(), 5.0) == stored


@pytest.mark.parametrize("name", [JSON_NAME, NPZ_NAME])
async def test_damaged_files_are_refused_and_repaired_by_an_upload(
    shelf: ModelFiles, tmp_path: Path, name: str
) -> None:
    digest = (await shelf.put(upload(), 5.0)).digest
    (tmp_path / "models" / digest / name).write_bytes(b"nonsense")
    with pytest.raises(Invalid) as caught:
        await shelf.get(digest)
    assert caught.value.code == "model_damaged"
    await shelf.put(upload(), 6.0)
    assert (await shelf.get(digest)).digest == digest


async def test_files_of_another_model_are_refused(shelf: ModelFiles, tmp_path: Path) -> None:
    one = (await shelf.put(upload(seed=1), 5.0)).digest
    two = (await shelf.put(upload(seed=2), 5.0)).digest
    for name in (JSON_NAME, NPZ_NAME):
        (tmp_path / "models" / one / name).write_bytes(
            (tmp_path / "models" / two / name).read_bytes()
        )
    with pytest.raises(Invalid, match=two[:12]):
        await shelf.get(one)


async def test_an_unknown_model_is_refused(shelf: ModelFiles) -> None:
    with pytest.raises(Invalid):
        await shelf.get("0" * 64)


async def test_a_damaged_upload_leaves_nothing(shelf: ModelFiles, tmp_path: Path) -> None:
    with pytest.raises(Invalid) as caught:
        await shelf.put(b"nonsense", 1.0)
    assert caught.value.code == "model_invalid"
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, "full"), (errno.EROFS, "read_only"), (errno.EIO, "io_error")],
)
async def test_a_failing_disk_is_said_and_leaves_nothing(
    shelf: ModelFiles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    reason: str,
) -> None:
    def fail(_: Path) -> None:
        raise OSError(code, "failing")

    monkeypatch.setattr(model_files, "_sync", fail)
    with pytest.raises(Retryable) as caught:
        await shelf.put(upload(), 1.0)
    assert (caught.value.code, caught.value.details["reason"]) == ("store_unavailable", reason)
    assert list((tmp_path / "models").iterdir()) == []


def with_report(seed: int = 1) -> bytes:
    model = artifact(seed=seed)
    return keeping.enclose(report(model), storage.to_bytes(model))


async def test_a_report_is_kept_beside_its_model(shelf: ModelFiles, tmp_path: Path) -> None:
    digest = (await shelf.put(with_report(), 5.0)).digest
    assert json.loads(await shelf.sheet(digest))["report"]["decides"] == "hybrid"
    assert (await shelf.get(digest)).digest == digest
    path = tmp_path / "models" / digest / REPORT_NAME
    path.write_bytes(b"nonsense")
    sheet = json.loads(await shelf.sheet(digest))
    assert sheet["report"] is None
    assert "cannot be read" in sheet["missing"][0]
    await shelf.put(with_report(), 6.0)
    assert json.loads(await shelf.sheet(digest))["missing"] == []


async def test_a_report_may_follow_its_model_and_then_stays(shelf: ModelFiles) -> None:
    digest = (await shelf.put(upload(), 5.0)).digest
    assert json.loads(await shelf.sheet(digest))["report"] is None
    await shelf.put(with_report(), 6.0)
    kept = await shelf.sheet(digest)
    assert json.loads(kept)["report"] is not None
    other = report(artifact(), shift_ms=9.0)
    await shelf.put(keeping.enclose(other, upload()), 7.0)
    assert await shelf.sheet(digest) == kept
    await shelf.put(upload(), 8.0)
    assert await shelf.sheet(digest) == kept


async def test_an_upload_with_the_report_of_another_model_is_refused(shelf: ModelFiles) -> None:
    body = keeping.enclose(report(artifact(seed=2)), upload(seed=1))
    with pytest.raises(Invalid, match="mixed up"):
        await shelf.put(body, 5.0)
