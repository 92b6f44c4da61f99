"""The Dockerfile, step by step without an engine: the same commands in a folder of its own.

Absolute paths of the image stand for folders below a temporary one; the build runs as we are, the
image's own commands as the image's user. So the file cannot rot, though nothing is isolated.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

from benchmarks.free_ports import free_port

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
# What the image has at these places is elsewhere here.
PLACES = ("/opt/signalbox", "/src", "/var/lib/signalbox")
START_S, STOP_S = 30.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction."""

    word: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One FROM with its steps; `parent` is another stage or the base image."""

    name: str
    parent: str
    steps: tuple[Step, ...]


@dataclass(slots=True)
class Machine:
    """A temporary folder that plays the file system of every stage."""

    root: Path
    user: tuple[int, int] = (os.getuid(), os.getgid())
    environment: dict[str, str] = field(default_factory=dict)
    config: dict[str, list[str]] = field(default_factory=dict)
    cwd: str = "/"
    strict: bool = False
    copied: list[str] = field(default_factory=list)

    def mapped(self, text: str) -> str:
        """A text with the image's places in it as ours."""
        for place in PLACES:
            text = text.replace(place, f"{self.root}{place}")
        return text

    def here(self, path: str) -> Path:
        """Our path of one in the image."""
        return self.root / str(PurePosixPath(self.cwd) / path).lstrip("/")


def stages() -> dict[str, Stage]:
    """The Dockerfile's stages by name."""
    found: dict[str, Stage] = {}
    text = DOCKERFILE.replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            parent, _, name = rest.partition(" AS ")
            found[name] = Stage(name=name, parent=parent, steps=())
        elif word and word != "ARG" and not word.startswith("#"):
            last = list(found)[-1]
            steps = (*found[last].steps, Step(word=word, rest=rest))
            found[last] = Stage(name=last, parent=found[last].parent, steps=steps)
    return found


def ignored(name: str) -> bool:
    """Whether .dockerignore keeps a path from the builder; the last line that fits decides."""
    verdict = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").removeprefix("**/")
        parts = name.split("/") if line.startswith("**/") else [name.split("/")[0]]
        if line and not line.startswith("#") and any(fnmatch(part, pattern) for part in parts):
            verdict = not line.startswith("!")
    return verdict


def build(machine: Machine, name: str) -> None:
    """Run a stage's steps after its parent's."""
    stage = stages()[name]
    if stage.parent in stages():
        build(machine, stage.parent)
    for step in stage.steps:
        take(machine, step)


def take(machine: Machine, step: Step) -> None:
    """One instruction on our machine."""
    match step.word:
        case "WORKDIR":
            machine.cwd = step.rest
            machine.here(".").mkdir(parents=True, exist_ok=True)
        case "ENV":
            for pair in shlex.split(machine.mapped(step.rest)):
                key, _, value = pair.partition("=")
                value = value.replace("$PATH", machine.environment["PATH"])
                machine.environment[key] = value
        case "RUN":
            run(machine, step.rest)
        case "COPY":
            copy(machine, step.rest.split())
        case "USER":
            machine.user = (int(step.rest.split(":")[0]), int(step.rest.split(":")[1]))
        case "ENTRYPOINT" | "CMD" | "VOLUME":
            machine.config[step.word] = json.loads(step.rest)
        case "HEALTHCHECK":
            machine.config["HEALTHCHECK"] = json.loads(step.rest.partition(" CMD ")[2])
        case _:
            machine.config[step.word] = step.rest.split()


def run(machine: Machine, command: str) -> None:
    command = machine.mapped(command)
    if os.getuid() != 0:
        command = command.replace("10001", str(os.getuid()))
    # The network's settings and pip's own cache are this machine's.
    kept = {k: v for k, v in os.environ.items() if k.startswith("PIP_") or "proxy" in k.lower()}
    environment = {k: v for k, v in machine.environment.items() if k != "PIP_NO_CACHE_DIR"}
    done = subprocess.run(
        ["sh", "-euc", command],
        cwd=machine.here("."),
        env=kept | {"HOME": os.environ.get("HOME", "/")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def copy(machine: Machine, words: list[str]) -> None:
    if words[0].startswith("--from="):
        # All stages share our file system, so the thing must be at the same place in both.
        assert words[1] == words[2]
        assert Path(machine.mapped(words[1])).exists()
        return
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *words[:-1]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    target = machine.here(words[-1])
    for name in filter(None, tracked):
        assert not ignored(name), name
        to = target / name.removeprefix(f"{words[0]}/") if len(words) == 2 else target / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to)
    machine.copied += words[:-1]


def as_user(machine: Machine, command: list[str]) -> list[str]:
    """The command as the image's user, without any privilege where its Python can be read so."""
    if os.getuid() != 0:
        return command
    user, group = machine.user
    drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    if not machine.strict:
        return [*drop, *command]
    drop += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    # setpriv itself still has its capabilities when it looks for the program; a shell has not.
    return [*drop, "sh", "-c", 'exec "$@"', "sh", *command]


def interpreters() -> Iterator[tuple[str, bool]]:
    """Pythons for the build, and whether a user without privileges can run them."""
    for path in (sys._base_executable, "/usr/bin/python3.11"):  # type: ignore[attr-defined]
        if Path(path).exists():
            nobody = Machine(root=Path("/"), user=(10_001, 10_001), strict=True)
            probe = as_user(nobody, [path, "-c", "import venv, ensurepip"])
            yield path, subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A built control plane."""
    with tempfile.TemporaryDirectory(prefix="signalbox-image-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        found = sorted(interpreters(), key=lambda one: not one[1])
        (root / "usr" / "bin").mkdir(parents=True)
        (root / "usr" / "bin" / "python").symlink_to(found[0][0])
        path = f"{root}/usr/bin:/usr/bin:/bin"
        one = Machine(root=root, environment={"PATH": path})
        (root / "var" / "lib").mkdir(parents=True)
        (root / "opt").mkdir()
        build(one, "build")
        build(one, "controlplane")
        one.strict = found[0][1]
        yield one


def environment_of(machine: Machine, **others: str) -> dict[str, str]:
    """What a container starts with, on loopback and free ports."""
    loopback = {"SIGNALBOX_HTTP_HOST": "127.0.0.1", "SIGNALBOX_ADS_HOST": "127.0.0.1"}
    return machine.environment | loopback | {"SIGNALBOX_ADS_PORT": "0"} | others


@contextmanager
def container(machine: Machine, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The image's own command, ready to answer."""
    command = machine.config["ENTRYPOINT"] + machine.config["CMD"]
    process = subprocess.Popen(
        as_user(machine, command),
        env=environment_of(machine, SIGNALBOX_HTTP_PORT=str(port)),
        cwd=machine.root,
    )
    try:
        deadline_s = time.monotonic() + START_S
        while status(port, "healthz") != 200:
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def status(port: int, path: str) -> int:
    """The status of one GET, 0 when nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def healthy(machine: Machine, port: int) -> bool:
    done = subprocess.run(
        as_user(machine, machine.config["HEALTHCHECK"]),
        env=environment_of(machine, SIGNALBOX_HTTP_PORT=str(port)),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def test_the_file_says_what_an_image_should() -> None:
    found = stages()
    assert list(found)[-1] == "controlplane"
    for name in ("gateway", "controlplane"):
        assert found[name].parent == "base"
        words = [step.word for step in found["base"].steps + found[name].steps]
        assert words.count("USER") == words.count("ENTRYPOINT") == words.count("CMD") == 1
        assert "STOPSIGNAL" in words
    steps = [step for stage in found.values() for step in stage.steps]
    for step in steps:
        if step.word in ("ENTRYPOINT", "CMD", "VOLUME"):
            assert json.loads(step.rest)
        if step.word == "RUN" and "pip install" in step.rest:
            assert "-c constraints.txt" in step.rest
    (user,) = [step.rest for step in steps if step.word == "USER"]
    assert user.split(":")[0].isdigit()
    assert int(user.split(":")[0]) >= 1000
    (health,) = [step.rest for step in steps if step.word == "HEALTHCHECK"]
    assert "curl" not in health


@pytest.mark.parametrize("name", [".git/config", ".venv/x", "tests/a.py", "controlplane.db"])
def test_the_builder_gets_nothing_else(name: str) -> None:
    assert ignored(name)
    assert ignored("controlplane/__pycache__/a.pyc")


@pytest.mark.timeout(300)
def test_each_step_works_and_the_service_starts_answers_and_stops(machine: Machine) -> None:
    assert set(machine.copied) >= {"pyproject.toml", "controlplane", "models"}
    listed = subprocess.run(
        [machine.mapped("/opt/signalbox/bin/pip"), "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.lower()
    assert "fastapi==" in listed
    assert not [name for name in ("torch", "aiohttp", "pytest", "scikit-learn") if name in listed]
    pins = (ROOT / "constraints.txt").read_text().lower().replace("_", "-")
    installed = [line.replace("_", "-") for line in listed.splitlines()]
    own = ("signalbox==", "pip==", "setuptools==")
    assert [line for line in installed if line not in pins and not line.startswith(own)] == []

    port = free_port()
    assert not healthy(machine, port)
    data = machine.here("/var/lib/signalbox")
    for _ in range(2):
        with container(machine, port) as process:
            assert status(port, "readyz") in (200, 503)
            assert healthy(machine, port)
            assert Path(f"/proc/{process.pid}").stat().st_uid == machine.user[0] or os.getuid()
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_S) == 0
    assert (data / "signalbox.db").stat().st_uid in (machine.user[0], os.getuid())
    assert (data.stat().st_mode & 0o777) == 0o700


@pytest.mark.timeout(300)
def test_the_agent_is_another_target(machine: Machine) -> None:
    agent = Machine(root=machine.root, environment=dict(machine.environment), cwd="/src")
    for step in stages()["build-gateway"].steps:
        take(agent, step)
    for step in stages()["gateway"].steps:
        take(agent, step)
    agent.user, agent.strict = machine.user, machine.strict
    command = agent.config["ENTRYPOINT"] + agent.config["CMD"]
    done = subprocess.run(
        as_user(agent, command),
        env=agent.environment,
        cwd=machine.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "xds-cache" in done.stdout) == (0, True), done.stderr
