"""The README's tour: every command in it runs here, against a `signalbox serve` of its own.

Blocks of commands carry a mark in a comment before them: `tour: serve` starts the server,
`tour: run` blocks run one after the other in one shell, as a reader would. A block of text right
after one is what it prints, `...` standing for anything. Ports, the data folder and the printed
token are put in the place of the README's.
"""

import doctest
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from benchmarks.free_ports import free_ports

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = README.partition("\n## A five-minute tour\n")[2].partition("\n## ")[0]
BLOCK = re.compile(
    r"<!-- tour: (?P<mark>\w+) -->\n```bash\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?",
    re.DOTALL,
)
TOKEN = re.compile(r"sbx_[A-Za-z0-9_-]{43}")
PLACEHOLDER = re.compile(r"sbx_the-[a-z-]+")
FLEET = "data/fleets/two-centers.yaml"
ACTIVATE = ". .venv/bin/activate\n"
BEGIN = "@@ step"
START_S, TOUR_S = 30, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Commands, and what they print when the README says so."""

    mark: str
    code: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands in the place of the README's own values."""

    folder: Path
    http: int
    ads: int
    admin: int
    listener: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SIGNALBOX_")}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TMPDIR": str(self.folder),
            "SIGNALBOX_DATA_DIR": str(self.folder / "data"),
            "SIGNALBOX_HTTP_PORT": str(self.http),
            "SIGNALBOX_ADS_PORT": str(self.ads),
        }

    def localized(self, code: str, token: str) -> str:
        """The README's commands with this run's ports, fleet file and token."""
        fleet = self.folder / "two-centers.yaml"
        text = (ROOT / FLEET).read_text(encoding="utf-8")
        assert text.count("listen_port: 10000") == 1
        fleet.write_text(text.replace("10000", str(self.listener)), encoding="utf-8")
        for written, here in (
            (ACTIVATE, ""),
            ("127.0.0.1:8080", f"127.0.0.1:{self.http}"),
            ("127.0.0.1:18000", f"127.0.0.1:{self.ads}"),
            ("127.0.0.1:9901", f"127.0.0.1:{self.admin}"),
            (FLEET, str(fleet)),
        ):
            assert written in code
            code = code.replace(written, here)
        assert len(PLACEHOLDER.findall(code)) == 1
        return PLACEHOLDER.sub(token, code)


STEPS = [
    Step(mark=found["mark"], code=found["code"], text=found["text"])
    for found in BLOCK.finditer(TOUR)
]


def test_every_block_of_commands_is_part_of_the_tour() -> None:
    """7. No command of the tour is left out of the test."""
    assert TOUR.count("```bash\n") == len(STEPS)
    assert TOUR.count("```text\n") == sum(step.text is not None for step in STEPS)
    assert [step.mark for step in STEPS] == ["serve", *["run"] * (len(STEPS) - 1)]
    assert all(f"make {name}" in README for name in ("run", "test"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    http, ads, admin, listener = free_ports(4)
    return Place(folder=tmp_path, http=http, ads=ads, admin=admin, listener=listener)


def test_the_tour_runs_as_it_is_written(
    place: Place, record_property: Callable[[str, object], None]
) -> None:
    """7. The curl tour of the README and every command in it run as a test."""
    with serving(place) as printed:
        token = wait_for(lambda: TOKEN.search(printed()))
        started = time.monotonic()
        outputs = walk(place, token.group())
        took_s = time.monotonic() - started
        revision = revision_of(place)
    for step, output in zip(STEPS[1:], outputs, strict=True):
        assert step.text is None or matches(step.text, output), explained(step, output)
    commands = sum(len(step.code.strip().splitlines()) for step in STEPS)
    record_property("lines_of_commands", commands)
    record_property("tour_seconds", round(took_s, 1))

    with serving(place):
        again = wait_for(lambda: revision_of(place))
    assert again == revision


def walk(place: Place, token: str) -> list[str]:
    """Run every step in one shell; what each printed on standard output."""
    script = "".join(f"echo '{BEGIN}'\n{step.code}" for step in STEPS[1:])
    done = subprocess.run(
        ["bash", "-eu", "-c", place.localized(script, token)],
        cwd=ROOT,
        env=place.environment(),
        capture_output=True,
        text=True,
        timeout=TOUR_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n--- standard error\n{done.stderr}"
    return done.stdout.split(f"{BEGIN}\n")[1:]


def matches(expected: str, output: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, output, flags)


def explained(step: Step, output: str) -> str:
    return f"{step.code}\n--- the README says\n{step.text}\n--- it printed\n{output}"


@contextmanager
def serving(place: Place) -> Iterator[Callable[[], str]]:
    """Run the README's way to start the server; gives what it has printed so far."""
    log = place.folder / "serve.log"
    # `exec`: the server gets the signal itself, as it does from a terminal.
    code = STEPS[0].code.replace(ACTIVATE, "").replace("signalbox serve", "exec signalbox serve")
    with log.open("w", encoding="utf-8") as out:
        server = subprocess.Popen(
            ["bash", "-eu", "-c", code],
            cwd=ROOT,
            env=place.environment(),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield lambda: log.read_text(encoding="utf-8")
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=20)
        finally:
            server.kill()
            server.wait()


def revision_of(place: Place) -> str:
    """The published revision as metrics tell it without a token; "" until it is served."""
    try:
        metrics = httpx.get(f"{place.url}/metrics").text
    except httpx.TransportError:
        return ""
    found = re.search(r"^signalbox_snapshot_revision (\S+)$", metrics, re.MULTILINE)
    return "" if found is None else found[1]


def wait_for(look: Callable[[], T | None]) -> T:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + START_S
    while not (found := look()):
        assert time.monotonic() < deadline, "the server did not come up in time"
        time.sleep(0.05)
    return found
