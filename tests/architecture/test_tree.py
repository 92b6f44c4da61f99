"""What may stand in the repository: names that say something, no address of one machine."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("controlplane", "gateway", "models", "training", "benchmarks")
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"})
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]

# Built from parts, so that this file does not hold what it looks for.
REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "registry.npm" + "js.org")
MACHINE_PATHS = ("/wo" + "rk/main", "/wo" + "rk/shared", "/ro" + "ot/", "/opt/" + "wheels")
FOREIGN = re.compile("|".join(re.escape(part) for part in REGISTRIES + MACHINE_PATHS))
TEXT_LIMIT_BYTES = 2_000_000


def tracked() -> list[Path]:
    """List the files that git tracks and that are there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = (ROOT / name for name in done.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_named_by_a_concept(path: Path) -> None:
    assert VAGUE.isdisjoint(re.split(r"[/_.]", name_of(path)))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_opens_with_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    if path.name == "__init__.py":
        assert len(tree.body) == 1, "an __init__.py is a docstring, the map of its package"


def test_no_registry_and_no_path_of_one_machine_is_tracked() -> None:
    found = []
    for path in tracked():
        content = path.read_bytes()
        if len(content) > TEXT_LIMIT_BYTES or b"\0" in content:
            continue
        match = FOREIGN.search(content.decode("utf-8", errors="replace"))
        if match is not None:
            found.append(f"{name_of(path)}: {match.group()}")
    assert found == []


def test_constraints_pin_exact_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[\w.!]+", pin)] == []
