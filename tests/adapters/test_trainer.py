"""The trainer: a real training in a process of its own, and every way in which it can end."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.adapters.trainer import ProcessTrainer
from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.ports.learning import TrainingOrder
from models import storage
from models.reports import keeping
from tests.builders import cluster, service
from training import dataset, site_dataset
from training.simulation import simulator, weather, world

DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data set of half a simulated day."""
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    place = world.load_world("W1")
    drawn = weather.draw(place, 720, 3, None)
    rows = simulator.simulate(place, drawn, weather.operator_ratio(place, 720, 3))
    dataset.write_csv(rows, path)
    return path.read_text("utf-8")


def order(settings: str = "quick", day_s: float = 86_400.0) -> TrainingOrder:
    return TrainingOrder(service=service(), seed=7, day_s=day_s, settings=settings)


async def halves(text: str) -> AsyncIterator[str]:
    middle = len(text) // 2
    yield text[:middle]
    yield text[middle:]


def alive(folder: Path) -> list[int]:
    """Processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in words:
                found.append(int(entry.name))
    return found


async def test_a_data_set_becomes_an_artifact(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    folder.mkdir()
    (folder / "left from a crash").touch()
    told: list[tuple[float, str]] = []
    trainer = ProcessTrainer(folder, DEADLINE_S)
    data = await trainer.train(order(), halves(text), lambda *words: told.append(words))
    artifact = storage.from_bytes(data, SCHEMA_DIGEST)
    assert artifact.service == "tickets"
    assert artifact.kind == "quick"
    assert artifact.provenance.seed == 7
    # What the fleet declares: eight and five servers.
    assert (artifact.primary.servers, artifact.secondary.servers) == (8.0, 5.0)
    assert told[-1] == (1.0, "residual: epoch 150 of 150")
    assert [progress for progress, _ in told] == sorted(progress for progress, _ in told)
    assert not folder.exists()


async def test_four_centers_become_laws_with_their_names(tmp_path: Path) -> None:
    place = world.load_world("W1x4")
    drawn = weather.draw(place, 720, 3, None)
    site = simulator.simulate_site(place, drawn, weather.operator_shares(place, 720, 3))
    site_dataset.write_csv(site, tmp_path / "rows.csv")
    clusters = tuple(cluster(name, 80.0, range(9001, 9017)) for name in site.centers)
    four = TrainingOrder(
        service=replace(service(), clusters=clusters), seed=7, day_s=86_400.0, settings="residual"
    )
    rows = halves((tmp_path / "rows.csv").read_text("utf-8"))
    trainer = ProcessTrainer(tmp_path / "training", DEADLINE_S)
    artifact = storage.from_bytes(await trainer.train(four, rows, lambda *_: None), SCHEMA_DIGEST)
    assert artifact.centers == site.centers
    assert [law.servers for law in artifact.laws] == [16.0] * 4


async def test_the_same_rows_and_seed_give_the_same_model(text: str, tmp_path: Path) -> None:
    trainer = ProcessTrainer(tmp_path / "training", DEADLINE_S)
    digests = set()
    for _ in range(2):
        data = await trainer.train(order("residual"), halves(text), lambda *_: None)
        artifact = storage.from_bytes(data, SCHEMA_DIGEST)
        assert keeping.enclosed(data, artifact.digest) is not None
        digests.add(artifact.digest)
    assert len(digests) == 1


async def test_what_training_refuses_is_told_with_its_code(text: str, tmp_path: Path) -> None:
    trainer = ProcessTrainer(tmp_path / "training", DEADLINE_S)
    few = "\n".join(text.splitlines()[:20]) + "\n"
    with pytest.raises(Invalid, match="19 complete rows") as caught:
        await trainer.train(order(), halves(few), lambda *_: None)
    assert caught.value.code == "too_few_rows"
    with pytest.raises(Invalid, match="magic"):
        await trainer.train(order("magic"), halves(text), lambda *_: None)


@pytest.mark.parametrize("module", ["torch", "scipy"])
async def test_without_its_packages_it_says_what_to_install(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    words = f"No module named {module!r}"
    (shadow / f"{module}.py").write_text(f"raise ModuleNotFoundError({words!r}, name={module!r})")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    trainer = ProcessTrainer(tmp_path / "training", DEADLINE_S)
    with pytest.raises(Invalid, match=r"'\.\[training\]'") as caught:
        await trainer.train(order(), halves(text), lambda *_: None)
    assert caught.value.code == "training_not_installed"
    assert module in caught.value.message


async def test_a_training_beyond_its_deadline_is_ended(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    with pytest.raises(Retryable) as caught:
        await ProcessTrainer(folder, 0.5).train(order("paper"), halves(text), lambda *_: None)
    assert caught.value.code == "training_deadline"
    assert alive(folder) == []
    assert not folder.exists()


async def test_cancelling_ends_the_process_at_once(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    begun = asyncio.Event()
    trainer = ProcessTrainer(folder, DEADLINE_S)
    task = asyncio.create_task(trainer.train(order("paper"), halves(text), lambda *_: begun.set()))
    async with asyncio.timeout(30):
        await begun.wait()
    (pid,) = alive(folder)
    assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
    started = time.monotonic()
    task.cancel()
    await asyncio.wait({task})
    assert time.monotonic() - started < 2.0
    assert task.cancelled()
    assert alive(folder) == []
    assert not folder.exists()


async def test_a_process_that_is_killed_is_no_model(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "training"

    def kill(*_words: object) -> None:
        for pid in alive(folder):
            os.kill(pid, 9)

    with pytest.raises(Retryable, match="by signal 9") as caught:
        await ProcessTrainer(folder, DEADLINE_S).train(order("paper"), halves(text), kill)
    assert caught.value.code == "training_failed"


async def test_a_folder_that_cannot_be_made_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    trainer = ProcessTrainer(tmp_path / "file" / "training", DEADLINE_S)
    with pytest.raises(Retryable, match="file/training"):
        await trainer.train(order(), halves(text), lambda *_: None)
