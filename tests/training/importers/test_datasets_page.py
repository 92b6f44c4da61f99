"""docs/datasets.md: its examples run as they stand, and its tables name every key and reason."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from training.importers.account import Reason
from training.importers.mapping_file import read_mapping
from training.importers.units import METRICS, Kind, factors

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
RUN = re.compile(
    r"<!-- example: run -->\n```bash\n(?P<code>.*?)```\n\n```text\n(?P<text>.*?)```\n", re.DOTALL
)
FILE = re.compile(r"<!-- example: file (\S+) -->\n```toml\n(.*?)```\n", re.DOTALL)
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("datasets")


def test_the_examples_print_what_the_page_says(work: Path) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "WORK": str(work),
    }
    examples = list(RUN.finditer(PAGE))
    assert len(examples) == 2
    for example in examples:
        done = subprocess.run(
            ["bash", "-ec", example["code"]],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert doctest.OutputChecker().check_output(
            example["text"], done.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), done.stdout


def test_the_shown_mapping_is_the_stored_one() -> None:
    for name, content in FILE.findall(PAGE):
        assert (ROOT / name).read_text(encoding="utf-8") == content


def test_the_example_for_a_prometheus_is_valid(work: Path) -> None:
    example = TOML.findall(PAGE)[-1]
    (work / "mapping.toml").write_text(example)
    ranges = read_mapping(work / "mapping.toml").ranges
    assert ranges is not None
    assert ranges.service == "tickets"


def test_every_reason_unit_and_metric_is_named() -> None:
    units = {unit for metric in METRICS for kind in Kind for unit in factors(metric, kind)}
    for word in (*Reason, *Kind, *METRICS, *units):
        assert f"`{word}`" in PAGE, word
