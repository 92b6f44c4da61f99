"""All checks, in the order in which a person would ask."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from controlplane.domain.services import StrategyName
from models.artifact import ModelArtifact
from models.examination import Check
from training.dataset import Dataset
from training.examination.confounding import not_confounded
from training.examination.evidence import Evidence, gather
from training.examination.labels import label_explained, label_follows, spread_explained
from training.examination.places import (
    cpu_follows_own_rate,
    response_follows_own_load,
    share_follows_ratio,
    share_of_rates,
)
from training.examination.units import (
    bandwidth_in_one_unit,
    cpu_in_one_unit,
    level_possible,
    levels_alike,
    response_in_one_unit,
    shares_possible,
)
from training.learning.law_fit import MAX_ERROR_RATIO

# In place of a figure that is not finite.
MOST = 1e9
# They ask the network alone.
WITHOUT_LAWS = frozenset({StrategyName.PAPER_MLP, StrategyName.PROJECTED_MLP})

CHECKS: tuple[Callable[[Evidence], Check | Iterable[Check]], ...] = (
    level_possible,
    levels_alike,
    shares_possible,
    label_follows,
    share_of_rates,
    share_follows_ratio,
    cpu_follows_own_rate,
    response_follows_own_load,
    response_in_one_unit,
    cpu_in_one_unit,
    bandwidth_in_one_unit,
    not_confounded,
    label_explained,
    spread_explained,
)


def examine(
    dataset: Dataset, artifact: ModelArtifact, strategy: StrategyName = StrategyName.HYBRID
) -> tuple[Check, ...]:
    """Hold a version and the rows that it was trained on against what must be true of a site.

    Args:
        strategy: that the service asks; some do without queue laws.
    """
    evidence = gather(dataset, artifact)
    laws = () if strategy in WITHOUT_LAWS else _laws_trusted(artifact)
    asked = (check for ask in CHECKS for check in several(ask(evidence)))
    return tuple(map(plain, chain(laws, asked)))


def plain(check: Check) -> Check:
    """The check with Python's own numbers, finite ones: it is stored as JSON."""
    figure = float(np.nan_to_num(check.figure, nan=MOST, posinf=MOST, neginf=-MOST))
    return replace(check, passed=bool(check.passed), figure=figure)


def several(found: Check | Iterable[Check]) -> Iterable[Check]:
    """What a check found, also when it is one."""
    return (found,) if isinstance(found, Check) else found


def _laws_trusted(artifact: ModelArtifact) -> Iterator[Check]:
    for name, law in (("primary", artifact.primary), ("secondary", artifact.secondary)):
        yield Check(
            code=f"{name}_law_trusted",
            passed=law.trusted,
            figure=law.error_ratio,
            limit=MAX_ERROR_RATIO,
            message=law.reason or f"the {name}'s queue law is known within {law.error_ratio:.1%}",
        )
