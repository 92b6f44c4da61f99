"""A model's digest can be had again, and says which rows, code and settings it came from."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.features import SCHEMA_DIGEST
from models import storage
from tests.builders import OPERATOR
from tests.engine.rig import Rig
from training import dataset
from training.learning.code import code_digest
from training.learning.settings import SETTINGS
from training.simulation import simulator, weather, world

ROWS, SEED = 400, 7


def simulated(path: Path) -> None:
    site = world.load_world("W1")
    drawn = weather.draw(site, ROWS + 1, SEED)
    ratio = np.linspace(0.4, 0.6, ROWS + 1)
    dataset.write_csv(simulator.simulate(site, drawn, ratio), path)


def training(folder: Path, seed: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start training in a process of its own, in a folder of its own."""
    folder.mkdir()
    return subprocess.Popen(
        [
            sys.executable, "-m", "training", "train", "--data", "../rows.csv", "--service",
            "tickets", "--settings", "quick", "--seed", str(seed), "--out", "version",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path.cwd()), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rows.csv, and what three processes made of it: first, again and other."""
    folder = tmp_path_factory.mktemp("provenance")
    simulated(folder / "rows.csv")
    one = {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    two = {"PYTHONHASHSEED": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    processes = (
        training(folder / "first", SEED, one),
        training(folder / "again", SEED, two),
        training(folder / "other", SEED + 1, one),
    )
    assert [process.wait() for process in processes] == [0, 0, 0]
    return folder


def test_digest_and_provenance(place: Path, record_property: Callable[[str, object], None]) -> None:
    """6. Same data, settings and seed give the same digest; rows, code and settings are told."""
    folders = [place / name / "version" for name in ("first", "again", "other")]
    first, again, other = (storage.load(folder, SCHEMA_DIGEST) for folder in folders)
    assert first.digest == again.digest
    assert (folders[0] / "model.npz").read_bytes() == (folders[1] / "model.npz").read_bytes()
    assert other.digest != first.digest

    rows = dataset.read_csv(place / "rows.csv")
    source = first.provenance
    assert source.data_digest == rows.digest()
    assert (source.rows, source.seed) == (ROWS, SEED)
    assert (source.first_row_s, source.last_row_s) == (rows.time_s[0], rows.time_s[-1])
    assert source.code_digest == code_digest()
    assert source.settings_digest == SETTINGS["quick"].digest()
    assert source.schema_digest == SCHEMA_DIGEST
    changed = replace(rows, ratio=rows.ratio + np.eye(1, ROWS)[0] * 1e-9)
    assert changed.digest() != source.data_digest
    record_property("digest", first.digest)


async def test_the_registry_tells_where_a_version_comes_from(place: Path, tmp_path: Path) -> None:
    """6. A version can be traced to its rows, code and settings, and to who brought it and why."""
    artifact = storage.load(place / "first" / "version", SCHEMA_DIGEST)
    shelf = ModelFiles(tmp_path / "models", learned)
    stores = await SqlStores.open(sqlite_url(tmp_path / "signalbox.db"), shelf)
    rig = Rig(stores=stores)  # type: ignore[arg-type]
    await rig.models.enroll(storage.to_bytes(artifact), OPERATOR, "training, job tickets-1")
    (stored,) = await stores.models.all("tickets")
    assert stored.digest == artifact.digest
    told = json.loads(stored.description)["provenance"]
    assert told == asdict(artifact.provenance)
    written = [entry for entry in await stores.audit.recent(10) if stored.digest in entry.subject]
    assert (written[-1].author, written[-1].reason) == (OPERATOR.name, "training, job tickets-1")
    await stores.close()
