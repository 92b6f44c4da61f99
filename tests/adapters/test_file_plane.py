"""Files of a plane: two processes write to one folder, and the newest revision stays."""

import asyncio
import fcntl
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.adapters import file_plane
from controlplane.adapters.file_plane import CURRENT, LOCK_FILE, STATE_FILE, FilePlane, Files
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.snapshot import Snapshot
from controlplane.ports.outside import Artifact
from tests.builders import fleet


class Program:
    """A proxy that is not there; `during` happens while it checks files."""

    def __init__(self) -> None:
        self.during: Callable[[], Awaitable[object]] | None = None
        self.taken: list[Files] = []
        self.repaired: list[Files] = []

    async def check(self, folder: Path) -> str | None:
        if self.during is not None:
            await self.during()
        return None

    async def take(self, before: Files, after: Files) -> None:
        self.taken.append(after)

    async def repair(self, files: Files) -> None:
        self.repaired.append(files)

    async def runs(self) -> str | None:
        return None


class Process:
    """One of the processes that write to a folder."""

    def __init__(self, folder: Path) -> None:
        self.program = Program()
        self.plane = FilePlane(("proxy", "edge"), folder, _render, self.program)

    async def apply(self, revision: int) -> None:
        await self.plane.apply(self.plane.render(replace(SNAPSHOT, revision=revision)))


SNAPSHOT = build(fleet(), {"tickets": {"beijing-1": 0.6, "beijing-2": 0.4}})


def _render(snapshot: Snapshot, left_out: Mapping[str, str]) -> Artifact:
    return Artifact(
        revision=snapshot.revision,
        version=snapshot.version,
        parts=(("proxy.conf", f"revision {snapshot.revision}".encode()),),
        snapshot=snapshot,
    )


def in_place(folder: Path) -> tuple[int, str]:
    current = folder / CURRENT
    state = json.loads((current / STATE_FILE).read_bytes())
    return state["revision"], (current / "proxy.conf").read_text()


async def test_a_process_that_is_overtaken_while_it_checks_changes_nothing(tmp_path: Path) -> None:
    late, other = Process(tmp_path), Process(tmp_path)
    await late.apply(4)
    late.program.during = lambda: other.apply(6)
    with pytest.raises(Rejected, match=r"revision 5 .* is not newer than revision 6"):
        await late.apply(5)
    assert in_place(tmp_path) == (6, "revision 6")
    assert len(late.program.taken) == 1


async def test_what_another_process_has_put_in_place_is_its_own_to_repair(tmp_path: Path) -> None:
    late, other = Process(tmp_path), Process(tmp_path)
    await late.apply(4)
    await late.plane.repair()
    await other.apply(6)
    await late.plane.repair()
    await other.plane.repair()
    assert len(late.program.repaired) == len(other.program.repaired) == 1


async def test_a_release_that_is_in_place_is_not_written_again(tmp_path: Path) -> None:
    first, second = Process(tmp_path), Process(tmp_path)
    await first.apply(4)
    before = (tmp_path / CURRENT / "proxy.conf").stat()
    await second.apply(4)
    after = (tmp_path / CURRENT / "proxy.conf").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert in_place(tmp_path) == (4, "revision 4")


async def test_the_lock_of_a_process_that_was_stopped_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_plane, "LOCK_S", 0.05)
    process = Process(tmp_path)
    await process.apply(4)
    descriptor = os.open(tmp_path / LOCK_FILE, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(Retryable, match="another process holds its lock"):
        await process.apply(5)
    assert in_place(tmp_path) == (4, "revision 4")
    waiting = asyncio.create_task(process.apply(5))
    await asyncio.sleep(0.01)
    os.close(descriptor)
    await waiting
    assert in_place(tmp_path) == (5, "revision 5")
