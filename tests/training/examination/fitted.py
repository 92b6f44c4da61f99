"""A version of rows without networks: laws and scores, in tenths of a second."""

from dataclasses import asdict

import numpy as np

from controlplane.domain.features import SCHEMA_DIGEST
from models.artifact import LawRecord, ModelArtifact, Provenance, Support
from training.dataset import CenterSeries, Dataset
from training.learning.law_fit import Declared, LawFit, LawRows, fit_law
from training.learning.projection import greybox_ms
from training.learning.scores import error_scores


def fitted(rows: Dataset) -> ModelArtifact:
    fits = [_fit(series) for series in (rows.primary, rows.secondary)]
    guess = greybox_ms(rows, (fits[0].law, fits[1].law))
    known = np.isfinite(guess)
    scores = error_scores("hybrid", guess[known], rows.response_time_ms[known])
    return ModelArtifact(
        service="tickets",
        kind="residual",
        mlp=None,
        residuals=(),
        primary=_record(fits[0]),
        secondary=_record(fits[1]),
        support=Support(
            feature_min=(0.0,) * 14, feature_max=(1.0,) * 14, ratio_low=0.4, ratio_high=0.6
        ),
        scores=scores | {"residual_spread": scores["hybrid_residual_spread"]},
        best_epoch={},
        losses={},
        provenance=Provenance(
            data_digest=rows.digest(),
            code_digest="c",
            settings_digest="s",
            schema_digest=SCHEMA_DIGEST,
            rows=len(rows),
            seed=1,
        ),
        created_at_s=1.7e9,
    )


def _fit(series: CenterSeries) -> LawFit:
    rows = LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )
    return fit_law(rows, Declared(servers=16.0))


def _record(fit: LawFit) -> LawRecord:
    return LawRecord(
        **asdict(fit.law), trusted=fit.trusted, reason=fit.reason, error_ratio=fit.error_ratio
    )
