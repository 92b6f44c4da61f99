"""Reports: round trips, beside the model and inside an upload; everything that must be refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.features import SCHEMA_DIGEST
from models import files, storage
from models.errors import ArtifactError
from models.reports import encoding, keeping
from tests.model_artifacts import artifact
from tests.model_reports import report

MODEL = artifact()
REPORT = report(MODEL)


def test_a_report_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    storage.save(MODEL, tmp_path)
    assert keeping.load(tmp_path, MODEL.digest) is None
    keeping.save(REPORT, tmp_path)
    assert keeping.load(tmp_path, MODEL.digest) == REPORT
    assert storage.load(tmp_path, SCHEMA_DIGEST).digest == MODEL.digest
    assert encoding.encode(REPORT) == encoding.encode(report(artifact()))


def test_an_upload_may_have_one(tmp_path: Path) -> None:
    storage.save(MODEL, tmp_path)
    bare = keeping.pack(tmp_path, SCHEMA_DIGEST)
    assert bare == storage.to_bytes(MODEL)
    assert keeping.enclosed(bare, MODEL.digest) is None
    keeping.save(REPORT, tmp_path)
    body = keeping.pack(tmp_path, SCHEMA_DIGEST)
    assert keeping.enclosed(body, MODEL.digest) == REPORT
    assert storage.from_bytes(body, SCHEMA_DIGEST).digest == MODEL.digest


def test_a_report_of_another_model_is_refused(tmp_path: Path) -> None:
    storage.save(MODEL, tmp_path)
    keeping.save(report(artifact(seed=2)), tmp_path)
    with pytest.raises(ArtifactError, match="mixed up"):
        keeping.load(tmp_path, MODEL.digest)


DATA = dataclasses.asdict(REPORT.data)


def changed(change: dict[str, Any]) -> bytes:
    content = json.loads(encoding.encode(REPORT))
    return json.dumps({**content, **change}).encode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "does not describe"),
        (b"[]", "does not describe"),
        (b"[" * 100_000, "does not describe"),
        (changed({"format": 9}), "format 9"),
        (changed({"model": 7}), "report.model"),
        (changed({"ratios": 0.5}), "report.ratios"),
        (changed({"ratios": [0.2, True, 0.8]}), "report.ratios"),
        (changed({"ratios": [0.2, "0.5", 0.8]}), "report.ratios"),
        (changed({"ratios": [0.2, float("nan"), 0.8]}), "finite"),
        (changed({"ratios": [0.2, 0.8]}), "lengths"),
        (changed({"ratios": [0.2] * 2_001}), "report.ratios"),
        (changed({"settings": {"name": None}}), "report.settings"),
        (changed({"settings": []}), "report.settings"),
        (changed({"scenes": [{}]}), "band"),
        (changed({"data": None}), "does not describe"),
        (changed({"decides": "<script>"}), "decides; known are hybrid"),
        (changed({"ratios": [0.2, 10**400, 0.8]}), "does not describe"),
        (changed({"data": {**DATA, "rows": 2**63}}), "report.data.rows"),
        (changed({"settings": {"name": "\ud800"}}), "report.settings has a value"),
        (changed({"settings": {"\ud800": 1.0}}), "report.settings has a value"),
        (changed({"settings": {"name": "\x1b[31m"}}), "report.settings has a value"),
        (b" " * (encoding.MAX_BYTES + 1), "at most"),
    ],
)
def test_what_is_no_report_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(ArtifactError, match=words):
        encoding.decode(body)


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ArtifactError, match="JSON"):
        encoding.encode(dataclasses.replace(REPORT, ratios=(0.2, float("inf"), 0.8)))
    with pytest.raises(ArtifactError, match=r"1e999|does not"):
        encoding.decode(encoding.encode(REPORT).replace(b"0.52", b"1e999"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / files.REPORT_NAME).open("wb") as file:
        file.truncate(encoding.MAX_BYTES + 1)
    with pytest.raises(ArtifactError, match="larger than"):
        keeping.load(tmp_path, MODEL.digest)
