"""What contestants know before the first day: a version trained on a month of the operator's logs.

Called by backtest.tournament. The same training as in production; the fleet declares nothing of
servers, idle and full CPU, so the physics of every model is fitted from the logs. Worlds that
differ only in what happens later share their logs, and so their versions.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.adapters.predictor import learned
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.strategies.situation import LearnedModel
from models import storage
from training.backtest.lane import SERVICE
from training.dataset import Dataset
from training.learning.law_fit import Declared
from training.learning.network import Epoch
from training.learning.settings import SETTINGS
from training.learning.version import Job, train_versions
from training.simulation import simulator, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world

LOG_DAYS = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Schooling:
    """One unit of training: seeds of a history, and where their versions go."""

    world: str
    seeds: tuple[int, ...]
    settings: str
    folder: Path


def logs(world: World, seed: int) -> Dataset:
    """The month before the run, under the operator's ratio."""
    minutes = LOG_DAYS * DAY_MINUTES + 1
    history = weather.draw(world, minutes, seed, first_day=-LOG_DAYS)
    ratio = weather.operator_ratio(world, minutes, seed, -LOG_DAYS)
    return simulator.simulate(world, history, ratio)


def histories(worlds: Sequence[str]) -> dict[str, str]:
    """World -> the first of them with the same logs: its own, or one that differs later only."""
    found: dict[str, str] = {}
    digests: dict[str, str] = {}
    for name in worlds:
        world = load_world(name)
        if len(world.centers) == 2:
            found[name] = digests.setdefault(logs(world, 0).digest(), name)
    return found


def school(task: Schooling) -> None:
    """Train the versions of one unit and save each at its `place`."""
    world = load_world(task.world)
    jobs = [
        Job(
            service=SERVICE,
            settings=SETTINGS[task.settings],
            seed=seed,
            created_at_s=0.0,
            primary=Declared(),
            secondary=Declared(),
        )
        for seed in task.seeds
    ]
    versions = train_versions([logs(world, seed) for seed in task.seeds], jobs, _quietly)
    for seed, version in zip(task.seeds, versions, strict=True):
        storage.save(version, place(task.folder, task.world, seed))


def graduate(folder: Path, history: str, seed: int) -> LearnedModel:
    """The trained version, as serving reads it."""
    return learned(storage.load(place(folder, history, seed), SCHEMA_DIGEST))


def place(folder: Path, history: str, seed: int) -> Path:
    """Where one version is; files of one name in two folders are two worlds."""
    digest = hashlib.sha256(history.encode("utf-8", "surrogateescape")).hexdigest()
    return folder / f"{digest[:16]}-{seed}"


def _quietly(_stage: str, _epoch: Epoch) -> None:
    """Progress is told by unit: a backtest trains many at once."""
