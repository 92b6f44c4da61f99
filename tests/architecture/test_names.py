"""A module that a docstring or a page of docs/ names is there, also after it has moved."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("controlplane", "gateway", "models", "training", "benchmarks")
# Docstrings name modules of the control plane without its own name.
PARTS = ("adapters", "api", "cli", "console", "demo", "domain", "engine", "ports")
DOTTED = re.compile(rf"`((?:{'|'.join((*PACKAGES, *PARTS))})(?:\.[a-z_0-9]+)+)`")
PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_0-9]+\.py)?)`")
# Where the pages begin their paths.
ROOTS = (ROOT, ROOT / "controlplane", ROOT / "controlplane" / "domain")


def leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a package, a module, or something that a module mentions."""
    first, *rest = name.split(".")
    place = ROOT / first if first in PACKAGES else ROOT / "controlplane" / first
    while rest and (place / rest[0]).is_dir():
        place /= rest.pop(0)
    if not rest:
        return True
    module = place / f"{rest[0]}.py"
    return module.is_file() and all(word in module.read_text("utf-8") for word in rest[1:])


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_that_docstrings_name_are_there(package: str) -> None:
    lost = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in DOTTED.findall(path.read_text("utf-8"))
        if not leads_somewhere(name)
    ]
    assert not lost


def test_modules_that_pages_name_are_there() -> None:
    lost = [
        f"{page.name}: {path}"
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for path in PATH.findall(page.read_text("utf-8"))
        if path.split("/")[0] in {*PACKAGES, *PARTS, "guardrails"}
        and not any((root / path).exists() for root in ROOTS)
    ]
    assert not lost


def test_a_name_that_leads_nowhere_is_seen() -> None:
    assert leads_somewhere("engine.reconciling.loop")
    assert not leads_somewhere("engine.loop")
    assert not leads_somewhere("controlplane.engine.reconciling.no_such_module")
