"""A version of rows without networks: laws and scores, in tenths of a second."""

import numpy as np

from models.artifact import ModelArtifact, Support
from training.dataset import Dataset
from training.learning.law_fit import Declared, fit_law
from training.learning.projection import greybox_ms
from training.learning.provenance import law_record, law_rows, provenance
from training.learning.scores import error_scores


def fitted(rows: Dataset) -> ModelArtifact:
    fits = [
        fit_law(law_rows(series), Declared(servers=16.0))
        for series in (rows.primary, rows.secondary)
    ]
    guess = greybox_ms(rows, (fits[0].law, fits[1].law))
    known = np.isfinite(guess)
    scores = error_scores("hybrid", guess[known], rows.response_time_ms[known])
    return ModelArtifact(
        service="tickets",
        kind="residual",
        mlp=None,
        residuals=(),
        primary=law_record(fits[0]),
        secondary=law_record(fits[1]),
        support=Support(
            feature_min=(0.0,) * 14, feature_max=(1.0,) * 14, ratio_low=0.4, ratio_high=0.6
        ),
        scores=scores | {"residual_spread": scores["hybrid_residual_spread"]},
        best_epoch={},
        losses={},
        provenance=provenance(rows, settings_digest="s", seed=1),
        created_at_s=1.7e9,
    )
