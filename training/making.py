"""Make a version from a file of rows: laws, networks, examination and report, in a directory.

Called by `python -m training train`. A file that names its centers, two or more, gets a queue law
for each and no network; one of two centers by their place gets everything.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from controlplane.domain.errors import Invalid
from controlplane.domain.services import StrategyName
from models import storage
from models.artifact import ModelArtifact
from models.reports import keeping
from training import dataset, site_dataset
from training.examination.examine import examine
from training.examination.examine_site import examine_site
from training.learning import site_version
from training.learning.law_fit import Declared
from training.learning.settings import TrainingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to make.

    Attributes:
        settings, strategy: of a version with networks; the strategy is the one that will ask it.
        servers, idle_cpu, full_cpu: what the fleet declares of each center, primary first, such
            as "24,12"; None, or an empty part ("24,"), is fitted.
        day_s: length of a day; created_at_s: UTC epoch seconds.
    """

    data: Path
    service: str
    settings: TrainingSettings
    seed: int
    created_at_s: float
    servers: str | None = None
    idle_cpu: str | None = None
    full_cpu: str | None = None
    day_s: float = 86_400.0
    strategy: StrategyName = StrategyName.HYBRID


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """A version, and how long it took without reading and loading, in seconds."""

    artifact: ModelArtifact
    seconds: float


def make(order: Order, out: Path) -> Made:
    """Train what the order asks for and save it in `out`.

    Raises:
        Invalid: the file or the declared numbers cannot be used, or the rows cannot be trained on.
    """
    if site_dataset.is_site(order.data):
        return _make_of_site(order, out)
    return _make_of_two(order, out)


def _make_of_site(order: Order, out: Path) -> Made:
    rows = site_dataset.read_csv(order.data)
    job = site_version.SiteJob(
        service=order.service,
        seed=order.seed,
        created_at_s=order.created_at_s,
        declared=declared(order, len(rows.centers)),
        day_s=order.day_s,
    )
    started_s = time.monotonic()
    artifact = site_version.train_site(rows, job)
    artifact = replace(artifact, examination=examine_site(rows, artifact))
    storage.save(artifact, out)
    return Made(artifact=artifact, seconds=time.monotonic() - started_s)


def _make_of_two(order: Order, out: Path) -> Made:
    rows = dataset.read_csv(order.data)
    primary, secondary = declared(order, 2)
    # torch takes seconds to load; a wrong option or file should not.
    from training import progress
    from training.learning import version
    from training.reports import measuring

    job = version.Job(
        service=order.service,
        settings=order.settings,
        seed=order.seed,
        created_at_s=order.created_at_s,
        primary=primary,
        secondary=secondary,
        day_s=order.day_s,
    )
    started_s = time.monotonic()
    with progress.shown(order.settings.epochs) as tell:
        artifact = version.train_version(rows, job, tell)
    artifact = replace(artifact, examination=examine(rows, artifact, order.strategy))
    storage.save(artifact, out)
    keeping.save(measuring.measure(rows, artifact, order.settings), out)
    return Made(artifact=artifact, seconds=time.monotonic() - started_s)


def declared(order: Order, centers: int) -> tuple[Declared, ...]:
    """What is declared of each center, primary first.

    Raises:
        Invalid: not one number for each center, or one that cannot be.
    """
    lists = (order.servers, order.idle_cpu, order.full_cpu)
    numbers = [_amounts(centers, text) for text in lists]
    return tuple(
        Declared(servers=servers, idle_cpu=idle, full_cpu=full)
        for servers, idle, full in zip(*numbers, strict=True)
    )


def _amounts(centers: int, text: str | None) -> list[float | None]:
    """Read "24,12"; an empty part ("24,") is not declared."""
    if text is None:
        return [None] * centers
    try:
        amounts = [float(part) if part.strip() else None for part in text.split(",")]
    except ValueError:
        amounts = []
    if len(amounts) != centers:
        count = "two" if centers == 2 else centers
        message = f"{text!r}: give {count} numbers, primary first, such as 24,12"
        raise Invalid("declared_invalid", message)
    if any(part is not None and not (np.isfinite(part) and part >= 0) for part in amounts):
        raise Invalid("declared_invalid", f"{text!r}: numbers must be finite and not negative")
    return amounts
