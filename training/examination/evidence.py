"""What the checks read: rows, laws, and how far each centre's response times are from its law.

Made once per examination. Arrays are (n,), NaN where a metric is missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, utilization
from models.artifact import ModelArtifact
from models.examination import Check
from training.dataset import CenterSeries, Dataset
from training.learning.projection import greybox_ms
from training.learning.provenance import law_of
from training.site_dataset import SiteDataset

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Fewer rows or moves decide nothing.
FEWEST = 30
# A period is followed by the next one when no more than this many have passed.
NEXT_PERIOD = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CenterEvidence:
    """One centre.

    Attributes:
        name: `primary` or `secondary`.
        use: utilisation by CPU and the fitted law.
        excess: log(response time / what the law says at that use).
    """

    name: str
    series: CenterSeries
    use: FloatArray
    excess: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Everything that the checks read.

    Attributes:
        followed: (n - 1,) whether the row after row i is of the period after it.
        excess: log(label / mean of the laws at the ratio of the row).
    """

    dataset: Dataset
    artifact: ModelArtifact
    centers: tuple[CenterEvidence, CenterEvidence]
    followed: BoolArray
    excess: FloatArray


def gather(dataset: Dataset, artifact: ModelArtifact) -> Evidence:
    """Compute what the checks share."""
    laws = (law_of(artifact.primary), law_of(artifact.secondary))
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.log(dataset.response_time_ms) - np.log(greybox_ms(dataset, laws))
    return Evidence(
        dataset=dataset,
        artifact=artifact,
        centers=(
            center_evidence("primary", dataset.primary, laws[0]),
            center_evidence("secondary", dataset.secondary, laws[1]),
        ),
        followed=followed_rows(dataset.time_s),
        excess=np.where(np.isfinite(excess), excess, np.nan),
    )


def undecided(code: str, limit: float, what: str) -> Check:
    """A check that the rows cannot decide."""
    return Check(code=code, passed=True, figure=0.0, limit=limit, message=f"not decided: {what}")


def ranks_agree(one: FloatArray, other: FloatArray) -> float:
    """Spearman's rank correlation over the rows that have both.

    0 with fewer than `FEWEST`, or where one of them never changes.
    """
    known = np.isfinite(one) & np.isfinite(other)
    if known.sum() < FEWEST:
        return 0.0
    # Equal values share a rank: metrics are often whole per cent.
    ranks = [rankdata(values[known]) for values in (one, other)]
    spread = float(np.std(ranks[0]) * np.std(ranks[1]))
    return float(np.cov(ranks[0], ranks[1], bias=True)[0, 1]) / spread if spread > 0 else 0.0


def center_evidence(name: str, series: CenterSeries, law: CenterLaw) -> CenterEvidence:
    """What the checks read of one center."""
    use = utilization(law, series.cpu_avg)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.log(series.response_time_ms) - np.log(response_time_ms(law, use))
    return CenterEvidence(
        name=name, series=series, use=use, excess=np.where(np.isfinite(excess), excess, np.nan)
    )


def followed_rows(time_s: FloatArray) -> BoolArray:
    """(n - 1,) whether the row after row i is of the period after it."""
    gaps = np.diff(time_s)
    if not gaps.size:
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(gaps <= NEXT_PERIOD * np.median(gaps))


def label_off(rows: Dataset | SiteDataset, shares: FloatArray, times_ms: FloatArray) -> FloatArray:
    """log(label / mean of the next row's response times) where both are known, (rows,).

    Args:
        shares, times_ms: (centers, n); a center without traffic needs no response time.
    """
    mean_ms = np.where(shares == 0, 0.0, shares * times_ms).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(rows.response_time_ms[:-1]) - np.log(mean_ms[1:])
    return np.asarray(off[followed_rows(rows.time_s) & np.isfinite(off)])
