"""Small trained versions for tests of the registry, the shelf and the predictor."""

from dataclasses import replace

import numpy as np

from controlplane.domain.features import SCHEMA_DIGEST
from models import storage
from models.artifact import LawRecord, ModelArtifact, Provenance, Support
from models.forward import Mlp

LAW = LawRecord(
    base_ms=20.0,
    contention=0.1,
    wait_ms=3.0,
    servers=8.0,
    saturation=0.9,
    idle_cpu=0.05,
    full_cpu=0.98,
    trusted=True,
    reason="",
    error_ratio=0.04,
)


def network(seed: int) -> Mlp:
    draws = np.random.default_rng(seed)
    return Mlp(
        w1=draws.normal(0, 0.3, (14, 64)),
        b1=np.zeros(64),
        w2=draws.normal(0, 0.2, (64, 32)),
        b2=np.zeros(32),
        w3=draws.normal(0, 0.2, (32, 1)),
        b3=np.array([50.0]),
        x_mean=np.full(14, 0.5),
        x_scale=np.ones(14),
    )


def artifact(service: str = "tickets", seed: int = 1) -> ModelArtifact:
    return ModelArtifact(
        service=service,
        kind="quick",
        mlp=network(seed),
        residuals=tuple(network(seed + 1000 + member) for member in range(5)),
        primary=LAW,
        secondary=replace(LAW, base_ms=30.0),
        support=Support(
            feature_min=(0.0,) * 14, feature_max=(1.0,) * 14, ratio_low=0.4, ratio_high=0.65
        ),
        scores={"validation_mae_ms": 1.25},
        best_epoch={"mlp": 1},
        losses={"mlp": np.array([[2.0, 1.0], [2.1, 1.2]])},
        provenance=Provenance(
            data_digest="d",
            code_digest="c",
            settings_digest="s",
            schema_digest=SCHEMA_DIGEST,
            rows=100,
            seed=seed,
        ),
        created_at_s=1.7e9,
    )


def upload(service: str = "tickets", seed: int = 1) -> bytes:
    return storage.to_bytes(artifact(service, seed))
