"""Trains a model in a process of its own: `python -m training train`, at low priority.

Called by `engine.learning.jobs`, one training at a time. The data set goes to a file in a folder
that belongs to this adapter alone; progress comes back as JSON lines. The process leads a group of
its own, which is killed whole at the end, and it ends by itself when this process dies. Serving
imports neither torch nor the training package.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controlplane.domain.errors import ControlPlaneError, Invalid, Retryable
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.services import Service
from controlplane.ports.learning import Told, TrainingOrder
from models.errors import ArtifactError
from models.reports import keeping

NICENESS = 10
LINES_KEPT = 20
LINE_BYTES = 1 << 20
# What the training package prints for input that it refuses, and what Python does without it.
REFUSAL = re.compile(r"^error: (?P<message>.*) \[(?P<code>[a-z0-9_]+)\]$")
MISSING = re.compile(r"^ModuleNotFoundError: No module named '(?P<name>[^']+)'")
# More threads than one slow a small network down and take the machine from serving.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ProcessTrainer:
    """Trainer: a child process.

    Args:
        folder: made for a training and removed after it, with whatever an earlier one left.
        deadline_s: a training that takes longer is ended.
    """

    def __init__(self, folder: Path, deadline_s: float) -> None:
        self._folder = folder
        self._deadline_s = deadline_s

    async def train(self, order: TrainingOrder, rows: AsyncIterator[str], told: Told) -> bytes:
        """Train on the rows and return the artifact; nothing of it is left behind."""
        try:
            with _folder(self._folder):
                async with asyncio.timeout(self._deadline_s):
                    await _write(self._folder / "dataset.csv", rows)
                    await _run(_arguments(order, self._folder), told)
                return await asyncio.to_thread(_packed, self._folder)
        except TimeoutError as error:
            raise Retryable(
                "training_deadline",
                f"training of {order.service.name} took longer than {self._deadline_s:g} s: "
                "see SIGNALBOX_TRAINING_DEADLINE_S and SIGNALBOX_TRAINING_SETTINGS",
            ) from error
        except OSError as error:
            raise Retryable(
                "training_failed", f"training could not be run in {self._folder}: {error}"
            ) from error


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


async def _write(path: Path, rows: AsyncIterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        async for piece in rows:
            await asyncio.to_thread(file.write, piece)


def _arguments(order: TrainingOrder, folder: Path) -> list[str]:
    return [
        "train",
        *("--data", str(folder / "dataset.csv")),
        *("--service", order.service.name),
        *("--out", str(folder / "model")),
        *("--settings", order.settings),
        *("--seed", str(order.seed)),
        *("--day-s", repr(order.day_s)),
        *("--strategy", order.service.strategy),
        *_declared(order.service),
        *("--leashed", "--json"),
    ]


def _declared(service: Service) -> list[str]:
    """What the fleet says about the centres, primary first; an empty part is not declared."""
    options: list[str] = []
    for name in ("servers", "idle_cpu", "full_cpu"):
        values = [getattr(cluster, name) for cluster in service.centers]
        if any(value is not None for value in values):
            given = ",".join("" if value is None else repr(value) for value in values)
            options += [f"--{name.replace('_', '-')}", given]
    return options


async def _run(arguments: list[str], told: Told) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # -P: a folder `models` where the service was started would hide the package.
        *("-P", "-m", "training", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=_environment(os.environ),
        limit=LINE_BYTES,
    )
    try:
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PGRP, process.pid, NICENESS)
        words = await _follow(process, told)
        code = await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if code != 0:
        raise _failure(code, words)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Ours without the service's settings, some of which are secret."""
    own = {name: value for name, value in given.items() if not name.startswith("SIGNALBOX_")}
    return own | ONE_THREAD


async def _follow(process: asyncio.subprocess.Process, told: Told) -> list[str]:
    """Pass progress on until the process closes its output; the last lines of anything else."""
    words: deque[str] = deque(maxlen=LINES_KEPT)
    assert process.stderr is not None
    async for line in process.stderr:
        text = line.decode(errors="replace").rstrip()
        if not _told(text, told):
            words.append(text)
    return list(words)


def _told(text: str, told: Told) -> bool:
    try:
        event = json.loads(text)
        told(
            float(event["progress"]),
            f"{event['stage']}: epoch {event['epoch']} of {event['epochs']}",
        )
    except (ValueError, TypeError, KeyError):
        return False
    return True


def _failure(code: int, words: list[str]) -> ControlPlaneError:
    for text in reversed(words):
        if refusal := REFUSAL.match(text):
            return Invalid(refusal["code"], refusal["message"])
        if missing := MISSING.match(text):
            return Invalid(
                "training_not_installed",
                f"training needs {missing['name']}, which is missing: "
                "pip install -c constraints.txt '.[training]' in a checkout of Signalbox",
            )
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    last = next((text for text in reversed(words) if text), "it said nothing")
    return Retryable("training_failed", f"the training process ended {how}: {last}")


def _packed(folder: Path) -> bytes:
    """The artifact as one body, after the same checks that every upload gets."""
    try:
        return keeping.pack(folder / "model", SCHEMA_DIGEST)
    except ArtifactError as error:
        raise Invalid(
            "model_invalid", f"training wrote a model that is refused: {error}"
        ) from error
