"""Train a version for a service in any number of data centers: a queue law for each, no network.

Called by `python -m training train` for data sets that name their centers. The networks and their
inputs are defined for two centers; laws are fitted center by center, so their number does not
matter. A version is only made when every law can be trusted: one law too few, and the split of
all would have to be guessed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controlplane.domain.errors import Invalid
from controlplane.domain.features import FEATURE_NAMES
from models.artifact import ModelArtifact, Support
from training.learning.law_fit import Declared, LawFit, fit_law
from training.learning.profile import daily_profile
from training.learning.projection import laws_ms, loads
from training.learning.provenance import (
    check_rows,
    environment,
    law_record,
    law_rows,
    law_scores,
    provenance,
)
from training.learning.scores import error_scores
from training.site_dataset import SiteDataset

# Named in the version where the settings of the networks stand for two centers.
KIND = "laws"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteJob:
    """What to train.

    Attributes:
        declared: what the fleet says of each center, in the order of the data set.
        day_s: the length of a day, for the daily profile; 86,400 unless time is scaled.
    """

    service: str
    seed: int
    created_at_s: float
    declared: tuple[Declared, ...]
    day_s: float = 86_400.0


def train_site(dataset: SiteDataset, job: SiteJob) -> ModelArtifact:
    """Fit a law for each center and score them together.

    Raises:
        Invalid: `too_few_rows`; `laws_untrusted`, with the reason of each law that the rows do
            not determine; `declared_invalid`, for another number of centers.
    """
    check_rows(dataset)
    if len(job.declared) != len(dataset.centers):
        raise Invalid(
            "declared_invalid",
            f"{len(job.declared)} numbers are declared for the {len(dataset.centers)} centers "
            f"{', '.join(dataset.centers)}",
        )
    fits = [
        fit_law(law_rows(series), declared)
        for series, declared in zip(dataset.series, job.declared, strict=True)
    ]
    _refuse_untrusted(dataset.centers, fits)
    return _artifact(dataset, job, fits)


def _refuse_untrusted(centers: tuple[str, ...], fits: Sequence[LawFit]) -> None:
    doubts = [
        f"{name}: {fit.reason}" for name, fit in zip(centers, fits, strict=True) if not fit.trusted
    ]
    if doubts:
        raise Invalid("laws_untrusted", "; ".join(doubts))


def _artifact(dataset: SiteDataset, job: SiteJob, fits: Sequence[LawFit]) -> ModelArtifact:
    laws = [law_record(fit) for fit in fits]
    low, high = np.nanquantile(dataset.shares[0], [0.01, 0.99])
    nowhere = (0.0,) * len(FEATURE_NAMES)
    return ModelArtifact(
        service=job.service,
        kind=KIND,
        mlp=None,
        residuals=(),
        primary=laws[0],
        secondary=laws[1],
        centers=dataset.centers,
        others=tuple(laws[2:]),
        support=Support(
            feature_min=nowhere, feature_max=nowhere, ratio_low=float(low), ratio_high=float(high)
        ),
        scores=_scores(dataset, fits),
        best_epoch={},
        losses={},
        profile=daily_profile(dataset.time_s, loads(dataset.series).sum(axis=0), job.day_s),
        provenance=provenance(dataset, _settings_digest(job), job.seed),
        created_at_s=job.created_at_s,
        environment=environment(),
    )


def _settings_digest(job: SiteJob) -> str:
    """Laws have no settings but what is declared of the machines."""
    return hashlib.sha256(f"{KIND} {job.declared!r} {job.day_s!r}".encode()).hexdigest()


def _scores(dataset: SiteDataset, fits: Sequence[LawFit]) -> dict[str, float]:
    guess = laws_ms(dataset.series, dataset.shares, [fit.law for fit in fits])
    known = np.isfinite(guess)
    if not known.any():
        raise Invalid(
            "laws_untrusted", "no row has the load and the CPU of every center: nothing to score by"
        )
    scores = error_scores("greybox", guess[known], dataset.response_time_ms[known])
    scores |= law_scores(dict(zip(dataset.centers, fits, strict=True)))
    return scores | {"residual_spread": scores["greybox_residual_spread"]}
