"""Artifacts: round trips, digests, and everything that must be refused."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from models import files, storage
from models.artifact import LawRecord, ModelArtifact, Provenance, Support
from models.errors import ArtifactError
from models.forward import Mlp, predict

SCHEMA = "s" * 64
OLD_DIGEST = "b9059138b70a0a6265ca77eeee44e70c005aa8125cb5ded57e76d16774efc3b5"
BOX = {"feature_min": [0.0] * 14, "feature_max": [1.0] * 14, "ratio_low": 0.4, "ratio_high": 0.6}


def tiny_mlp(value: float = 0.1) -> Mlp:
    return Mlp(
        w1=np.full((14, 64), value),
        b1=np.zeros(64),
        w2=np.full((64, 32), value),
        b2=np.zeros(32),
        w3=np.full((32, 1), value),
        b3=np.zeros(1),
        x_mean=np.zeros(14),
        x_scale=np.ones(14),
    )


def law() -> LawRecord:
    return LawRecord(
        base_ms=20.0,
        contention=0.1,
        wait_ms=3.0,
        servers=8.0,
        saturation=1.0,
        idle_cpu=0.05,
        full_cpu=0.98,
        trusted=True,
        reason="",
        error_ratio=0.04,
    )


def artifact(**changes: object) -> ModelArtifact:
    values: dict[str, object] = {
        "service": "ticket-stock",
        "kind": "quick",
        "mlp": tiny_mlp(),
        "residuals": tuple(tiny_mlp(0.01 * member) for member in range(1, 6)),
        "primary": law(),
        "secondary": law(),
        "support": Support(
            feature_min=(0.0,) * 14, feature_max=(1.0,) * 14, ratio_low=0.4, ratio_high=0.6
        ),
        "scores": {"validation_mae_ms": 1.25},
        "best_epoch": {"mlp": 3},
        "losses": {"mlp": np.array([[2.0, 1.0], [2.1, 1.2]])},
        "provenance": Provenance(
            data_digest="d", code_digest="c", settings_digest="x", schema_digest=SCHEMA,
            rows=100, seed=1,
        ),
        "created_at_s": 1.7e9,
        "environment": {"numpy": "2"},
    }  # fmt: skip
    return ModelArtifact(**(values | changes))  # type: ignore[arg-type]


def test_directory_round_trip_keeps_the_digest_and_the_predictions(tmp_path: Path) -> None:
    original = artifact()
    storage.save(original, tmp_path / "new" / "model")
    loaded = storage.load(tmp_path / "new" / "model", SCHEMA)
    assert loaded.digest == original.digest
    assert loaded.mlp is not None
    assert original.mlp is not None
    x = np.random.default_rng(0).normal(size=(5, 14))
    np.testing.assert_array_equal(predict(loaded.mlp, x), predict(original.mlp, x))
    assert len(loaded.residuals) == 5
    for mine, theirs in zip(loaded.residuals, original.residuals, strict=True):
        np.testing.assert_array_equal(predict(mine, x), predict(theirs, x))
    np.testing.assert_array_equal(loaded.losses["mlp"], original.losses["mlp"])
    assert loaded.primary == original.primary
    assert loaded.support == original.support
    assert loaded.created_at_s == original.created_at_s


def test_bytes_round_trip_and_equal_models_give_equal_bytes() -> None:
    original = artifact()
    body = storage.to_bytes(original)
    assert body == storage.to_bytes(artifact())
    assert storage.from_bytes(body, SCHEMA).digest == original.digest


def test_an_artifact_without_networks_is_allowed() -> None:
    bare = artifact(mlp=None, residuals=(), losses={}, best_epoch={})
    loaded = storage.from_bytes(storage.to_bytes(bare), SCHEMA)
    assert loaded.mlp is None
    assert loaded.residuals == ()


def test_laws_of_named_centers_are_kept_in_their_order() -> None:
    far = dataclasses.replace(law(), base_ms=90.0)
    named = artifact(centers=("east", "west", "north"), others=(far,))
    loaded = storage.from_bytes(storage.to_bytes(named), SCHEMA)
    assert loaded.centers == ("east", "west", "north")
    assert [one.base_ms for one in loaded.laws] == [20.0, 20.0, 90.0]
    assert loaded.format == 3
    assert artifact(centers=("east", "west")).digest != artifact().digest


@pytest.mark.parametrize(
    "change",
    [
        {"centers": ("east", "west")},
        {"centers": ("east", "west", "west")},
        {"centers": ("east", "west", "")},
        {"centers": ()},
    ],
)
def test_laws_without_a_name_each_are_refused(change: dict[str, tuple[str, ...]]) -> None:
    body = storage.to_bytes(artifact(**({"others": (law(),)} | change)))
    with pytest.raises(ArtifactError, match="queue laws are of the data centers"):
        storage.from_bytes(body, SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"service": "other"},
        {"kind": "paper"},
        {"mlp": tiny_mlp(0.2)},
        {"residuals": ()},
        {"residuals": (tiny_mlp(0.01),)},
        {"primary": dataclasses.replace(law(), base_ms=21.0)},
        {"scores": {"validation_mae_ms": 1.26}},
        {"losses": {"mlp": np.array([[2.0, 1.0], [2.1, 1.3]])}},
    ],
)
def test_content_changes_the_digest(change: dict[str, object]) -> None:
    assert artifact(**change).digest != artifact().digest


def test_time_and_place_do_not_change_the_digest() -> None:
    assert artifact(created_at_s=1.0, environment={}).digest == artifact().digest


def test_changed_json_is_refused(tmp_path: Path) -> None:
    storage.save(artifact(), tmp_path)
    path = tmp_path / files.JSON_NAME
    content = json.loads(path.read_text())
    content["laws"]["primary"]["base_ms"] = 2.0
    path.write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match="changed or mixed up"):
        storage.load(tmp_path, SCHEMA)


def test_arrays_of_another_model_are_refused(tmp_path: Path) -> None:
    storage.save(artifact(), tmp_path / "a")
    storage.save(artifact(mlp=tiny_mlp(0.2)), tmp_path / "b")
    (tmp_path / "b" / files.NPZ_NAME).replace(tmp_path / "a" / files.NPZ_NAME)
    with pytest.raises(ArtifactError, match="changed or mixed up"):
        storage.load(tmp_path / "a", SCHEMA)


@pytest.mark.parametrize("position", [200, 4000, 9000, -30])
def test_a_flipped_byte_is_refused(tmp_path: Path, position: int) -> None:
    storage.save(artifact(), tmp_path)
    path = tmp_path / files.NPZ_NAME
    body = bytearray(path.read_bytes())
    body[position] ^= 0xFF
    path.write_bytes(bytes(body))
    with pytest.raises(ArtifactError):
        storage.load(tmp_path, SCHEMA)


def test_other_features_are_refused() -> None:
    with pytest.raises(ArtifactError, match="train again"):
        storage.from_bytes(storage.to_bytes(artifact()), "t" * 64)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"model\.json is missing"):
        storage.load(tmp_path, SCHEMA)


def test_not_finite_weights_are_refused() -> None:
    body = storage.to_bytes(artifact(mlp=tiny_mlp(float("nan"))))
    with pytest.raises(ArtifactError, match="finite"):
        storage.from_bytes(body, SCHEMA)


def test_versions_with_one_residual_network_keep_their_digest() -> None:
    # Written by the version before ensembles: format 1.
    old = artifact(residuals=(tiny_mlp(0.01),))
    assert old.format == 1
    assert old.digest == OLD_DIGEST
    loaded = storage.from_bytes(storage.to_bytes(old), SCHEMA)
    assert loaded.digest == OLD_DIGEST
    assert len(loaded.residuals) == 1
    assert artifact().format == 2


def test_an_ensemble_is_bounded_and_of_one_size() -> None:
    many = artifact(residuals=(tiny_mlp(),) * 17)
    with pytest.raises(ArtifactError, match=r"shape \(17, 2\)"):
        storage.from_bytes(storage.to_bytes(many), SCHEMA)
    content, named = files.unpack(storage.to_bytes(artifact()))
    named["residual.b2"] = named["residual.b2"][:4]
    with pytest.raises(ArtifactError, match=r"expected \(5, 32\)"):
        storage.from_bytes(files.pack(content, named), SCHEMA)


def test_a_wrong_shape_is_refused() -> None:
    network = dataclasses.replace(tiny_mlp(), b2=np.zeros(31))
    with pytest.raises(ArtifactError, match=r"shape \(31,\)"):
        storage.from_bytes(storage.to_bytes(artifact(mlp=network)), SCHEMA)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ArtifactError, match="JSON"):
        storage.to_bytes(artifact(scores={"mae_ms": float("inf")}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_ms": float("nan")}, "JSON"),
        ({"base_ms": 0.0}, "impossible"),
        ({"servers": "8"}, "laws.servers"),
        ({"servers": 10**400}, "laws.servers"),
        ({"trusted": "no"}, "laws.trusted"),
        ({"reason": ["x"]}, "laws.reason"),
        ({"reason": "\x1b[31mred"}, "laws.reason"),
    ],
)
def test_an_impossible_law_is_refused(changes: dict[str, object], message: str) -> None:
    broken = dataclasses.replace(law(), **changes)  # type: ignore[arg-type]
    with pytest.raises(ArtifactError, match=message):
        storage.from_bytes(storage.to_bytes(artifact(primary=broken)), SCHEMA)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("service", ""),
        ("service", "x" * 65),
        ("service", 7),
        ("kind", "\x1b[31m"),
        ("networks", "mlp"),
        ("scores", {"mae_ms": "low"}),
        ("scores", {"mae_ms": 10**400}),
        ("best_epoch", {"mlp": 2**63}),
        ("provenance", {"rows": 1}),
        ("environment", {"python": {}}),
        ("examination", [{"code": 1, "passed": True, "figure": 0, "limit": 0, "message": ""}]),
        ("centers", [1, 2]),
        ("created_at_s", 10**400),
        ("profile", [10**400]),
        ("format", True),
    ],
)
def test_what_model_json_holds_has_its_type(name: str, value: object) -> None:
    """Listing, card and report showed what a digest of its own had let in, or died of it."""
    content, named = files.unpack(storage.to_bytes(artifact()))
    with pytest.raises(
        (ValueError, KeyError), match=name if name != "provenance" else "data_digest"
    ):
        storage._parse({**content, name: value}, named)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_way_of_packing_is_refused(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("model.json", b"{}")
    with pytest.raises(ArtifactError, match="packed in another way"):
        storage.from_bytes(buffer.getvalue(), SCHEMA)


def test_no_damaged_byte_ends_in_another_error() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("model.json", "model.npz"):
            archive.writestr(name, b"some text that is packed " * 9)
    body = buffer.getvalue()
    for at in range(len(body)):
        for value in (0, 1, 0x7F, 0xFF):
            with pytest.raises(ArtifactError):
                storage.from_bytes(body[:at] + bytes([value]) + body[at + 1 :], SCHEMA)


@pytest.mark.parametrize("body", [b"", b"not a zip", b"PK\x03\x04" + b"\x00" * 60])
def test_what_is_no_zip_is_refused(body: bytes) -> None:
    with pytest.raises(ArtifactError, match="not a readable zip"):
        storage.from_bytes(body, SCHEMA)


def test_other_members_are_refused() -> None:
    with pytest.raises(ArtifactError, match="expected"):
        storage.from_bytes(zipped({"model.json": b"{}", "evil.pkl": b""}), SCHEMA)


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"format": 9}', b"{", b"\xff", b"[" * 100_000])
def test_json_that_is_no_model_is_refused(content: bytes) -> None:
    body = zipped({"model.json": content, "model.npz": zipped({})})
    with pytest.raises(ArtifactError):
        storage.from_bytes(body, SCHEMA)


def test_a_zip_that_unpacks_to_much_is_refused() -> None:
    body = zipped({"model.json": b"{}", "model.npz": bytes(files.MAX_BYTES + 1)})
    with pytest.raises(ArtifactError, match="at most"):
        storage.from_bytes(body, SCHEMA)


def test_a_header_that_announces_terabytes_is_refused() -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
    )
    body = zipped({"model.json": b"{}", "model.npz": zipped({"w.npy": buffer.getvalue()})})
    with pytest.raises(ArtifactError, match="announces another size"):
        storage.from_bytes(body, SCHEMA)


def test_pickled_objects_are_refused() -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([{}], dtype=object), allow_pickle=True)
    body = zipped({"model.json": b"{}", "model.npz": zipped({"w.npy": buffer.getvalue()})})
    with pytest.raises(ArtifactError):
        storage.from_bytes(body, SCHEMA)


def test_an_npy_of_another_version_and_a_damaged_header_are_refused() -> None:
    for part in (b"\x93NUMPY\x02\x00", b"\x93NUMPY\x01\x00\x02\x00{}", b"nothing"):
        body = zipped({"model.json": b"{}", "model.npz": zipped({"w.npy": part})})
        with pytest.raises(ArtifactError, match=r"w\.npy"):
            storage.from_bytes(body, SCHEMA)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    storage.save(artifact(), tmp_path)
    with (tmp_path / files.JSON_NAME).open("ab") as file:
        file.truncate(files.MAX_BYTES + 1)
    with pytest.raises(ArtifactError, match="larger than"):
        storage.load(tmp_path, SCHEMA)


def rebuilt(change: dict[str, object], without: str = "") -> bytes:
    """A zip whose JSON or arrays were changed by somebody who knows the format."""
    content, named = files.unpack(storage.to_bytes(artifact()))
    named.pop(without, None)
    return files.pack({**content, **change}, named)


@pytest.mark.parametrize(
    ("change", "without", "message"),
    [
        ({"format": 4}, "", "format 4 is none of"),
        ({}, "mlp.w1", "lacks the array mlp.w1"),
        ({"profile": [-1.0]}, "", "daily profile"),
        ({"support": {**BOX, "feature_min": [0.0]}}, "", "support box"),
    ],
)
def test_a_document_that_does_not_fit_is_refused(
    change: dict[str, object], without: str, message: str
) -> None:
    with pytest.raises(ArtifactError, match=message):
        storage.from_bytes(rebuilt(change, without), SCHEMA)


def test_a_scale_of_zero_is_refused() -> None:
    original = artifact()
    content, named = files.unpack(storage.to_bytes(original))
    named["mlp.x_scale"] = np.zeros(14)
    with pytest.raises(ArtifactError, match="x_scale"):
        storage.from_bytes(files.pack(content, named), SCHEMA)


def zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()
