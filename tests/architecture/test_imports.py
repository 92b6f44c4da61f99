"""The layers of the design, and that serving starts without the training libraries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAINING_ONLY = {"torch", "sklearn", "river"}
SERVING = ["controlplane", "gateway", "models"]


def test_import_linter_keeps_every_contract() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def modules_of(package: str) -> list[str]:
    """Name every module of the package except those that start a program when imported."""
    paths = (path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py"))
    names = (".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)
    return sorted(n for n in names if not n.endswith("__main__") and ".migrations" not in n)


@pytest.mark.parametrize("package", SERVING)
def test_serving_imports_no_training_library(package: str) -> None:
    """Import the package and then every module of it in a fresh interpreter."""
    code = (
        "import importlib, json, sys\n"
        "for name in json.loads(sys.argv[1]): importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(modules_of(package))],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert TRAINING_ONLY.isdisjoint(json.loads(done.stdout))
