"""The checks for a version of named data centers, two or more, that has laws and no network.

A check that holds one center against another is asked for every pair, and its worst answer
counts: columns may be exchanged between any two.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from models.artifact import ModelArtifact
from models.examination import Check
from training.dataset import Dataset
from training.examination.evidence import (
    CenterEvidence,
    Evidence,
    center_evidence,
    followed_rows,
    label_off,
)
from training.examination.examine import plain, several
from training.examination.labels import follows
from training.examination.places import cpu_follows_own_rate, response_follows_own_load
from training.examination.units import (
    bandwidth_in_one_unit,
    cpu_in_one_unit,
    level_possible,
    levels_alike,
    response_in_one_unit,
    shares_possible,
)
from training.learning.provenance import law_of
from training.site_dataset import SiteDataset

PAIR_CHECKS = (
    level_possible,
    levels_alike,
    shares_possible,
    cpu_follows_own_rate,
    response_follows_own_load,
    response_in_one_unit,
    cpu_in_one_unit,
    bandwidth_in_one_unit,
)


def examine_site(dataset: SiteDataset, artifact: ModelArtifact) -> tuple[Check, ...]:
    """Hold the rows and the laws against what must be true of a site, every pair of centers."""
    found: dict[str, Check] = {}
    shares = np.stack([series.traffic_share for series in dataset.series])
    times_ms = np.stack([series.response_time_ms for series in dataset.series])
    for check in (follows(label_off(dataset, shares, times_ms)), *_of_pairs(dataset, artifact)):
        known = found.get(check.code)
        if known is None or (known.passed and not check.passed):
            found[check.code] = check
    return tuple(map(plain, found.values()))


def _of_pairs(dataset: SiteDataset, artifact: ModelArtifact) -> Iterator[Check]:
    centers = [
        center_evidence(name, series, law_of(record))
        for name, series, record in zip(dataset.centers, dataset.series, artifact.laws, strict=True)
    ]
    for pair in combinations(range(len(centers)), 2):
        evidence = _pair(dataset, artifact, pair, (centers[pair[0]], centers[pair[1]]))
        for ask in PAIR_CHECKS:
            yield from several(ask(evidence))


def _pair(
    dataset: SiteDataset,
    artifact: ModelArtifact,
    pair: tuple[int, int],
    centers: tuple[CenterEvidence, CenterEvidence],
) -> Evidence:
    first, second = pair
    return Evidence(
        dataset=Dataset(
            time_s=dataset.time_s,
            primary=dataset.series[first],
            secondary=dataset.series[second],
            ratio=dataset.shares[first],
            response_time_ms=dataset.response_time_ms,
        ),
        artifact=artifact,
        centers=centers,
        followed=followed_rows(dataset.time_s),
        excess=np.full(len(dataset), np.nan),
    )
