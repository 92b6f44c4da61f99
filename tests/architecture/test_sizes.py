"""The size limits of the style guide, and that the script that checks them sees what it should."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "sizes.py"


@pytest.fixture(scope="module")
def sizes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sizes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tree_keeps_the_limits() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SIX = "def f(a, *, b, c, d, e, g):\n    return a\n"
LONG = "def f():\n" + "    x = 1\n" * 50
DOCUMENTED = 'def f():\n    """One.\n' + "    more\n" * 40 + '    """\n' + "    x = 1\n" * 40
ENDPOINT = "@router.get('/x')\n" + SIX
COMMAND = SIX + "app.command('f')(f)\n"
METHOD = "class C:\n    def f(self, a, b, c, d, e):\n        return a\n"


@pytest.mark.parametrize(
    ("path", "source", "part"),
    [
        ("controlplane/x.py", "x = 1\n" * 401, "401 lines"),
        ("controlplane/x.py", LONG, "f: 51 lines"),
        ("controlplane/x.py", SIX, "f: 6 parameters"),
        ("controlplane/engine/x.py", ENDPOINT, "f: 6 parameters"),
        ("controlplane/engine/x.py", COMMAND, "f: 6 parameters"),
        ("controlplane/api/x.py", SIX, "f: 6 parameters"),
    ],
)
def test_a_broken_limit_is_one_finding(
    sizes: ModuleType, path: str, source: str, part: str
) -> None:
    (finding,) = sizes.findings(Path(path), source)
    assert part in finding


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("controlplane/x.py", "x = 1\n" * 400),
        ("controlplane/x.py", DOCUMENTED),
        ("controlplane/x.py", METHOD),
        ("controlplane/api/x.py", ENDPOINT),
        ("controlplane/cli/x.py", ENDPOINT),
        ("controlplane/cli/x.py", COMMAND),
        ("training/__main__.py", ENDPOINT),
        ("tests/x.py", SIX),
    ],
)
def test_what_is_allowed_passes(sizes: ModuleType, path: str, source: str) -> None:
    assert list(sizes.findings(Path(path), source)) == []
