"""One trained version of one service's model: what is kept, and its digest.

Training makes it, the predictor of the control plane reads it; models.storage writes and reads
its files. The same data, settings and seed give the same digest; when and where the training ran
is recorded and is no part of it.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ArtifactError
from models.examination import Check
from models.forward import LAYERS, Mlp

# 1: one residual network. 2: several, whose arrays have a leading axis (members, ...).
# 3: laws of named data centers, two or more.
FORMATS = (1, 2, 3)
Json = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

WEIGHTS = {
    "w1": (LAYERS[0], LAYERS[1]),
    "b1": (LAYERS[1],),
    "w2": (LAYERS[1], LAYERS[2]),
    "b2": (LAYERS[2],),
    "w3": (LAYERS[2], LAYERS[3]),
    "b3": (LAYERS[3],),
}
SCALERS = {"x_mean": (LAYERS[0],), "x_scale": (LAYERS[0],), "y": (2,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LawRecord:
    """The fitted queue law of one data centre; the fields of the domain's CenterLaw, and trust.

    Attributes:
        base_ms, contention, wait_ms, servers, saturation, idle_cpu, full_cpu: as in CenterLaw.
        trusted: whether the rows determine the law well enough to decide by it.
        reason: why not, in words for an operator; empty when trusted.
        error_ratio: widest 90 % interval of the fitted response time within the loads that the
            candidates reach, as a ratio (0.1 = +-10 %).
    """

    base_ms: float
    contention: float
    wait_ms: float
    servers: float
    saturation: float
    idle_cpu: float
    full_cpu: float
    trusted: bool
    reason: str
    error_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a version comes from; all of it is part of the digest.

    Attributes:
        data_digest: of the rows; code_digest: of the sources that trained; settings_digest: of the
            named settings; schema_digest: of the features.
        rows: how many there were; seed: of everything random.
        first_row_s, last_row_s: UTC epoch seconds of the oldest and the newest row; None in
            versions of before they were recorded.
    """

    data_digest: str
    code_digest: str
    settings_digest: str
    schema_digest: str
    rows: int
    seed: int
    first_row_s: float | None = None
    last_row_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The box that the training rows cover: outside it a network only guesses.

    Attributes:
        feature_min, feature_max: 14 numbers each in the units of the features, finite, with the
            small margin that training adds; (0, 0) for a feature that was never reported.
        ratio_low, ratio_high: 1 % and 99 % quantile of the applied ratio, 0..1.
    """

    feature_min: tuple[float, ...]
    feature_max: tuple[float, ...]
    ratio_low: float
    ratio_high: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelArtifact:
    """A version.

    Attributes:
        mlp: predicts response time in ms.
        residuals: the members of an ensemble that predicts log(actual / queue law); () is none.
        kind: the name of the training settings (`paper`, `residual`, `quick`).
        primary, secondary: the fitted queue laws.
        centers: whose laws they are, primary first; () in versions that know two by their place.
        others: the laws of the third center and those after it.
        scores: named figures; the units are in the names.
        best_epoch: 1-based epoch with the smallest validation loss, per network: `mlp`,
            `residual` or `residual_1` to `residual_5`.
        losses: per network (2, epochs) float64: training and validation loss per epoch.
        profile: load by equal parts of the day (UTC), relative to the day's mean; () is unknown.
        examination: what was checked before it may serve; () is not examined.
        created_at_s: UTC epoch seconds; environment: versions of the libraries that trained it.
    """

    service: str
    kind: str
    mlp: Mlp | None
    residuals: tuple[Mlp, ...]
    primary: LawRecord
    secondary: LawRecord
    support: Support
    scores: dict[str, float]
    best_epoch: dict[str, int]
    losses: dict[str, NDArray[np.float64]]
    provenance: Provenance
    created_at_s: float
    profile: tuple[float, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    examination: tuple[Check, ...] = ()
    centers: tuple[str, ...] = ()
    others: tuple[LawRecord, ...] = ()

    @property
    def format(self) -> int:
        """The oldest format that can hold it, so that old versions keep their digests."""
        if self.centers or self.others:
            return 3
        return 2 if len(self.residuals) > 1 else 1

    @property
    def laws(self) -> tuple[LawRecord, ...]:
        """The law of every center, primary first."""
        return (self.primary, self.secondary, *self.others)

    @property
    def digest(self) -> str:
        """sha256 over canonical JSON and array bytes; the identity of the version."""
        return _digest(facts(self), arrays(self))


def facts(artifact: ModelArtifact) -> Json:
    """Everything of the digest that is not an array, as JSON values."""
    examination = [dataclasses.asdict(check) for check in artifact.examination]
    content: Json = {
        "format": artifact.format,
        "service": artifact.service,
        "kind": artifact.kind,
        "networks": ["mlp"] * (artifact.mlp is not None) + ["residual"] * bool(artifact.residuals),
        "laws": {
            "primary": dataclasses.asdict(artifact.primary),
            "secondary": dataclasses.asdict(artifact.secondary),
        },
        "support": dataclasses.asdict(artifact.support),
        "profile": list(artifact.profile),
        "scores": dict(artifact.scores),
        "best_epoch": dict(artifact.best_epoch),
        "losses": sorted(artifact.losses),
        "provenance": {
            name: value
            for name, value in dataclasses.asdict(artifact.provenance).items()
            if value is not None
        },
    }
    # Versions of before they were there keep their digest.
    if examination:
        content |= {"examination": examination}
    if artifact.centers or artifact.others:
        others = [dataclasses.asdict(law) for law in artifact.others]
        content |= {"centers": list(artifact.centers), "other_laws": others}
    return content


def arrays(artifact: ModelArtifact) -> Arrays:
    """All arrays by name: `mlp.w1`, ..., `residual.y`, `losses.mlp`."""
    named: Arrays = {}
    if artifact.mlp is not None:
        named |= _named("mlp", _parts(artifact.mlp))
    members = [_parts(mlp) for mlp in artifact.residuals]
    if len(members) == 1:
        named |= _named("residual", members[0])
    elif members:
        named |= _named(
            "residual", {part: np.stack([m[part] for m in members]) for part in members[0]}
        )
    for name, curve in artifact.losses.items():
        named[f"losses.{name}"] = np.asarray(curve, dtype=np.float64)
    return named


def _parts(mlp: Mlp) -> Arrays:
    parts: Arrays = {part: getattr(mlp, part) for part in (*WEIGHTS, "x_mean", "x_scale")}
    return parts | {"y": np.array([mlp.y_mean, mlp.y_scale])}


def _named(name: str, parts: Arrays) -> Arrays:
    return {f"{name}.{part}": array for part, array in parts.items()}


def canonical(content: Json) -> bytes:
    """Encode JSON so that the same meaning gives the same bytes.

    Raises:
        ArtifactError: a number is not finite, or a value is no JSON.
    """
    try:
        text = json.dumps(
            content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"the model has a value that JSON cannot hold: {error}") from error
    return text.encode()


def _digest(content: Json, named: Arrays) -> str:
    digest = hashlib.sha256(canonical(content))
    for name in sorted(named):
        array = named[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
