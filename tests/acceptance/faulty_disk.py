"""A small file system of its own for one service, that can be filled, refuse, and lose files.

The file system lives in a mount namespace that ends with its holder, so nothing is left behind;
the test reaches into it by /proc. What Linux does not let a test do (a remount to read-only under
open files, a slow disk) is done by faulty_disk.c in the service's own calls.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.live_envoy import Child

SOURCE = Path(__file__).with_name("faulty_disk.c")
BLOCK = b"\0" * 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyDisk:
    """The file system, mounted at `folder` inside the namespace of the process `holder`."""

    folder: Path
    holder: int
    library: Path
    control: Path

    @property
    def inside(self) -> Path:
        """The folder as this process reaches it."""
        return Path(f"/proc/{self.holder}/root{self.folder}")

    @property
    def entering(self) -> list[str]:
        """What to put before a command, so that it runs where the file system is."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.holder), "--mount", *user, "--wd=."]

    @property
    def environment(self) -> dict[str, str]:
        """What the command needs in its environment."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAULTY_DISK": str(self.folder),
            "FAULTY_DISK_MODE": str(self.control),
        }

    def set_mode(self, mode: str) -> None:
        """ "" is a sound disk; "read-only" or "slow MILLISECONDS"."""
        beside = self.control.with_suffix(".new")
        beside.write_text(mode)
        beside.replace(self.control)

    def fill(self) -> None:
        """Leave no block free."""
        ballast = self.inside / "ballast"
        with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(BLOCK):
                pass

    def free(self) -> None:
        """Take back what `fill` took."""
        (self.inside / "ballast").unlink()


@contextlib.asynccontextmanager
async def faulty_disk(folder: Path, size: str) -> AsyncIterator[FaultyDisk]:
    """Mount a file system of `size` ("8m") at `folder`, for as long as the context lasts."""
    folder.mkdir()
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "-m"]
    script = f'mount -t tmpfs -o size={size},mode=700 tmpfs "$0" && echo mounted && exec sleep 600'
    process = await asyncio.create_subprocess_exec(
        *unshare,
        "sh",
        "-c",
        script,
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    holder = Child(process=process)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        if await process.stdout.readline() != b"mounted\n":
            words = (await process.stderr.read()).decode()
            pytest.fail(
                f"cannot mount a small file system ({words.strip()}): run as root, or allow"
            )
        control = folder.with_suffix(".mode")
        control.touch()
        yield FaultyDisk(
            folder=folder, holder=process.pid, library=await _library(folder), control=control
        )
    finally:
        await holder.kill()


async def _library(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.fail("a disk that refuses needs a C compiler: install gcc")
    library = folder.with_suffix(".so")
    process = await asyncio.create_subprocess_exec(
        compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"
    )
    assert await process.wait() == 0, "faulty_disk.c does not compile"
    return library


@contextlib.asynccontextmanager
async def serving_on(
    disk: FaultyDisk, settings: dict[str, str], output: Path
) -> AsyncIterator[Child]:
    """`signalbox serve` with its data on the disk; `settings` are environment variables."""
    environment = os.environ | disk.environment | settings
    environment["SIGNALBOX_DATA_DIR"] = str(disk.folder / "data")
    with output.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            *disk.entering,
            sys.executable,
            "-m",
            "controlplane",
            "serve",
            env=environment,
            stdout=file,
            stderr=file,
        )
    child = Child(process=process)
    try:
        yield child
    finally:
        await child.stop()
