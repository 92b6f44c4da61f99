"""Turn a checked artifact into the model that strategies read.

wiring hands `learned` to the shelf of models. The domain knows neither files nor `models`; this
module knows both and decides nothing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.situation import Ensemble, LearnedModel, Network
from models.artifact import LawRecord, ModelArtifact
from models.examination import objection
from models.forward import Mlp, predict, predict_members, stack

# Score of training: standard deviation of (predicted - actual) / actual on held-out rows.
SPREAD_SCORE = "residual_spread"


def learned(artifact: ModelArtifact) -> LearnedModel:
    """The domain's model: networks as functions in float64, laws only when both are trusted."""
    support = artifact.support
    return LearnedModel(
        digest=artifact.digest,
        network=None if artifact.mlp is None else _network(artifact.mlp),
        ensemble=_ensemble(artifact.residuals) if artifact.residuals else None,
        laws=_laws(*artifact.laws),
        centers=artifact.centers,
        feature_low=support.feature_min,
        feature_high=support.feature_max,
        ratio_low=support.ratio_low,
        ratio_high=support.ratio_high,
        profile=artifact.profile,
        residual_spread=artifact.scores.get(SPREAD_SCORE, 0.0),
        objection=objection(artifact.examination),
    )


def _network(mlp: Mlp) -> Network:
    def network(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return predict(mlp, x).astype(np.float64)

    return network


def _ensemble(mlps: Sequence[Mlp]) -> Ensemble:
    """All members in one pass; one alone as `_network`, so that its old decisions replay."""
    if len(mlps) == 1:
        network = _network(mlps[0])
        return lambda x: network(x)[None]
    networks = stack(mlps)

    def ensemble(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return predict_members(networks, x).astype(np.float64)

    return ensemble


def _laws(*records: LawRecord) -> tuple[CenterLaw, ...]:
    if not all(record.trusted for record in records):
        return ()
    return tuple(
        CenterLaw(
            base_ms=record.base_ms,
            contention=record.contention,
            wait_ms=record.wait_ms,
            servers=record.servers,
            saturation=record.saturation,
            idle_cpu=record.idle_cpu,
            full_cpu=record.full_cpu,
        )
        for record in records
    )
