"""A trained version on disk and on the wire: model.json and model.npz, or both in one zip.

Training and POST /v1/models write and read through here. A file is never trusted: sizes, digest,
feature schema, array shapes and finiteness are checked before anything is used, and nothing is
unpickled.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import files, typed
from models.artifact import (
    FORMATS,
    SCALERS,
    WEIGHTS,
    Arrays,
    Json,
    LawRecord,
    ModelArtifact,
    Provenance,
    Support,
    arrays,
    facts,
)
from models.errors import ArtifactError
from models.examination import Check
from models.forward import LAYERS, Mlp

_LAW_NUMBERS = (
    "base_ms", "contention", "wait_ms", "servers", "saturation", "idle_cpu", "full_cpu",
    "error_ratio",
)  # fmt: skip
# Below it a weight divided by the scale leaves float32.
MIN_SCALE = 1e-12
MAX_PROFILE = 1e4
MAX_MEMBERS = 16
MAX_CENTERS = 64
MOST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What model.json holds; those with a default are missing in older versions."""

    service: str
    kind: str
    networks: tuple[str, ...]
    laws: dict[str, LawRecord]
    support: Support
    profile: tuple[float, ...]
    scores: dict[str, float]
    best_epoch: dict[str, int]
    losses: tuple[str, ...]
    provenance: Provenance
    created_at_s: float
    environment: dict[str, str]
    examination: tuple[Check, ...] = ()
    centers: tuple[str, ...] = ()
    other_laws: tuple[LawRecord, ...] = ()


def save(artifact: ModelArtifact, directory: Path) -> None:
    """Write model.json and model.npz into `directory`, made when missing, replaced when not."""
    directory.mkdir(parents=True, exist_ok=True)
    files.write(directory, _document(artifact), arrays(artifact))


def load(directory: Path, schema_digest: str) -> ModelArtifact:
    """Read what `save` wrote.

    Raises:
        ArtifactError: a file is missing or damaged, the digest differs, the features are not
            those of `schema_digest`, a shape is wrong or a number not finite.
    """
    content, named = files.read(directory)
    return _restore(content, named, schema_digest)


def to_bytes(artifact: ModelArtifact) -> bytes:
    """Pack both files into one zip, the body of POST /v1/models."""
    return files.pack(_document(artifact), arrays(artifact))


def from_bytes(body: bytes, schema_digest: str) -> ModelArtifact:
    """Unpack and check what `to_bytes` made; bounded in size before anything is allocated.

    Raises:
        ArtifactError: as `load`.
    """
    content, named = files.unpack(body)
    return _restore(content, named, schema_digest)


def _document(artifact: ModelArtifact) -> Json:
    return {
        **facts(artifact),
        "digest": artifact.digest,
        "created_at_s": artifact.created_at_s,
        "environment": dict(artifact.environment),
    }


def _restore(content: Json, named: Arrays, schema_digest: str) -> ModelArtifact:
    try:
        artifact = _parse(content, named)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, ArtifactError):
            raise
        raise ArtifactError(f"model.json does not describe a model: {error!r}") from error
    if artifact.digest != content.get("digest"):
        raise ArtifactError(
            f"the content has digest {artifact.digest[:12]}, model.json says "
            f"{str(content.get('digest'))[:12]}: the files were changed or mixed up, "
            "copy both again"
        )
    if artifact.provenance.schema_digest != schema_digest:
        raise ArtifactError(
            f"trained on features {artifact.provenance.schema_digest[:12]}, this version reads "
            f"{schema_digest[:12]}: train again with this version"
        )
    return artifact


def _parse(content: Json, named: Arrays) -> ModelArtifact:
    """Types first. The digest is over the numbers as they were written, 8 or 8.0."""
    if content["format"] not in FORMATS or content["format"] is True:
        raise ArtifactError(f"format {content['format']!r:.40} is none of {FORMATS}: train again")
    typed.read(_Facts, content, "model.json")
    if not 0 < len(content["service"]) <= MOST_NAME:
        raise ArtifactError(f"the service's name has not 1 to {MOST_NAME} characters")
    names = content["networks"]
    centers, others = _others(content)
    return ModelArtifact(
        service=str(content["service"]),
        kind=str(content["kind"]),
        mlp=_networks("mlp", named)[0] if "mlp" in names else None,
        residuals=_networks("residual", named) if "residual" in names else (),
        primary=_law(content["laws"]["primary"]),
        secondary=_law(content["laws"]["secondary"]),
        support=_support(content["support"]),
        scores=dict(content["scores"]),
        best_epoch=dict(content["best_epoch"]),
        losses={name: _curve(name, named) for name in content["losses"]},
        provenance=Provenance(**content["provenance"]),
        created_at_s=float(content["created_at_s"]),
        profile=_profile(content["profile"]),
        environment=dict(content["environment"]),
        examination=tuple(_check(each) for each in content.get("examination", ())),
        centers=centers,
        others=others,
    )


def _others(content: Json) -> tuple[tuple[str, ...], tuple[LawRecord, ...]]:
    """Names of all centers and the laws of the third and those after it."""
    centers = tuple(str(name) for name in content.get("centers", ()))
    others = tuple(_law(each) for each in content.get("other_laws", ()))
    whole = len(centers) == len(set(centers)) == 2 + len(others) <= MAX_CENTERS
    if (centers or others) and not (whole and all(centers)):
        raise ArtifactError(f"{2 + len(others)} queue laws are of the data centers {centers}")
    return centers, others


def _check(content: Json) -> Check:
    check = Check(**content)
    numbers = (check.figure, check.limit)
    if content["passed"] not in (True, False) or not all(map(np.isfinite, numbers)):
        raise ArtifactError(f"an examination has an impossible check: {check}")
    return check


def _profile(content: list[float]) -> tuple[float, ...]:
    profile = tuple(float(value) for value in content)
    if not all(0 <= value < MAX_PROFILE for value in profile):
        raise ArtifactError("the daily profile holds something else than finite shares of a mean")
    return profile


def _networks(name: str, named: Arrays) -> tuple[Mlp, ...]:
    """One network, or as many as the leading axis of an ensemble's arrays has."""
    targets = _array(f"{name}.y", named, None)
    members = targets.shape[:-1]
    if len(members) > 1 or (members and not 2 <= members[0] <= MAX_MEMBERS):
        raise ArtifactError(f"{name}.y has shape {targets.shape}: train again")
    parts = {
        part: _array(f"{name}.{part}", named, (*members, *shape)).reshape(-1, *shape)
        for part, shape in {**WEIGHTS, **SCALERS}.items()
    }
    if not (parts["x_scale"] >= MIN_SCALE).all():
        raise ArtifactError(f"{name}.x_scale has a value below {MIN_SCALE}: train again")
    return tuple(_member(parts, index) for index in range(len(parts["y"])))


def _member(parts: Arrays, index: int) -> Mlp:
    own = {part: array[index] for part, array in parts.items()}
    y_mean, y_scale = (float(value) for value in own.pop("y"))
    return Mlp(**own, y_mean=y_mean, y_scale=y_scale)


def _curve(name: str, named: Arrays) -> NDArray[np.float64]:
    return _array(f"losses.{name}", named, None)


def _array(name: str, named: Arrays, shape: tuple[int, ...] | None) -> NDArray[Any]:
    if name not in named:
        raise ArtifactError(f"model.npz lacks the array {name}")
    array = named[name]
    if shape is not None and array.shape != shape:
        raise ArtifactError(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ArtifactError(f"{name} holds something else than finite numbers")
    return array


def _law(content: Json) -> LawRecord:
    law = LawRecord(**content)
    numbers = [getattr(law, name) for name in _LAW_NUMBERS]
    if not all(isinstance(number, int | float) and np.isfinite(number) for number in numbers):
        raise ArtifactError(f"a queue law holds something else than finite numbers: {numbers}")
    if law.base_ms <= 0 or law.servers < 1 or not 0 < law.saturation <= 1:
        raise ArtifactError(f"a queue law is impossible: {law}")
    return law


def _support(content: Json) -> Support:
    support = Support(
        feature_min=tuple(float(value) for value in content["feature_min"]),
        feature_max=tuple(float(value) for value in content["feature_max"]),
        ratio_low=float(content["ratio_low"]),
        ratio_high=float(content["ratio_high"]),
    )
    if len(support.feature_min) != LAYERS[0] or len(support.feature_max) != LAYERS[0]:
        raise ArtifactError(f"the support box needs {LAYERS[0]} lower and upper limits")
    return support
