"""How a version came about: its rows, the code, the libraries, and what its laws were fitted to.

Called by `version` and `site_version`, so that every kind of version says it in the same words.
"""

import platform
from collections.abc import Mapping
from dataclasses import asdict, fields

import numpy as np
import scipy

from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.strategies.queue_law import CenterLaw
from models.artifact import LawRecord, Provenance
from training.dataset import CenterSeries, Dataset
from training.learning.code import code_digest
from training.learning.law_fit import LawFit, LawRows
from training.site_dataset import SiteDataset

# Two batches and a tail: less is an anecdote.
MIN_ROWS = 40


def check_rows(dataset: Dataset | SiteDataset) -> None:
    """Refuse what is too little to learn from.

    Raises:
        Invalid: `too_few_rows`.
    """
    rows = len(dataset)
    if rows < MIN_ROWS:
        raise Invalid(
            "too_few_rows",
            f"{rows} complete rows, at least {MIN_ROWS} needed: collect more before training",
        )


def law_rows(series: CenterSeries) -> LawRows:
    """What a law is fitted to, of one center."""
    return LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )


def law_record(fit: LawFit) -> LawRecord:
    """The law as a version keeps it, with how far to trust it."""
    return LawRecord(
        **asdict(fit.law), trusted=fit.trusted, reason=fit.reason, error_ratio=fit.error_ratio
    )


def law_of(record: LawRecord) -> CenterLaw:
    """The law of a record, trusted or not."""
    return CenterLaw(**{field.name: getattr(record, field.name) for field in fields(CenterLaw)})


def law_scores(fits: Mapping[str, LawFit]) -> dict[str, float]:
    """Scores of the fits, by the names of the centers."""
    scores = {}
    for center, fit in fits.items():
        scores[f"{center}_law_spread"] = fit.spread
        scores[f"{center}_law_condition"] = fit.condition
        scores[f"{center}_law_rows"] = float(fit.rows)
    return scores


def provenance(dataset: Dataset | SiteDataset, settings_digest: str, seed: int) -> Provenance:
    """What has to be the same for the same version to come out again."""
    return Provenance(
        data_digest=dataset.digest(),
        code_digest=code_digest(),
        settings_digest=settings_digest,
        schema_digest=SCHEMA_DIGEST,
        rows=len(dataset),
        seed=seed,
        first_row_s=float(dataset.time_s[0]),
        last_row_s=float(dataset.time_s[-1]),
    )


def environment() -> dict[str, str]:
    """Versions of Python and of the libraries that fit laws."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
