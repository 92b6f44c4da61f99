"""docs/simulator.md: its examples run, and it names every world."""

import re
from pathlib import Path
from typing import Any

from training.simulation.world import load_world, world_names

DOCUMENT = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text("utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def test_the_python_example_plays_a_day() -> None:
    (example,) = fenced("python")
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["played"].mean_ms.shape == (4, 5)


def test_the_example_of_a_world_is_one(tmp_path: Path) -> None:
    (example,) = fenced("toml")
    (tmp_path / "slow-disk.toml").write_text(example)
    assert load_world(str(tmp_path / "slow-disk.toml")).secondary.saturation == 0.7


def test_every_world_is_described() -> None:
    described = re.findall(r"^\| (W\w+) \| [a-zA-Z]", DOCUMENT, re.MULTILINE)
    assert sorted(described) == sorted(world_names())
