"""A data plane that reads its configuration from files: render, check, put in place, take up.

Made by `wiring` with the renderer and the program of one kind of proxy, driven by the engine's
courier. Every release is a folder of its own; the link `current` moves to the new one at once, so
a proxy that starts by itself always finds a whole one. Where the check refuses a release, the
routes that it refuses are found by halving and left out; the rest ships.
"""

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import structlog

from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Snapshot
from controlplane.ports.outside import Artifact, PlaneNode

log = structlog.get_logger()

Files = Mapping[str, bytes]
Render = Callable[[Snapshot, Mapping[str, str]], Artifact]
CURRENT, RELEASES = "current", "releases"
STATE_FILE, LOCK_FILE = "signalbox.json", "signalbox.lock"
# A process that is stopped at the wrong moment keeps the lock; the others try again.
LOCK_S = 1.0
# Routes of one snapshot that are looked for; each takes some checks.
MOST_REFUSED = 20
# Earlier releases that stay, for whoever wants to see what was before.
KEPT = 2


class Program(Protocol):
    """A running proxy of one kind, or one that may be started later."""

    async def check(self, folder: Path) -> str | None:
        """Its words when it refuses the files in a folder, None when it takes them."""

    async def take(self, before: Files, after: Files) -> None:
        """Take up files that are in place; raises `Retryable` when it does not."""

    async def repair(self, files: Files) -> None:
        """Set right what runs otherwise than the files say, such as after a restart."""

    async def runs(self) -> str | None:
        """`REVISION:VERSION` of what it runs; None when it does not answer."""


class FilePlane:
    """Implements `ports.DataPlane`.

    Args:
        names: of the plane, and of the gateway group whose proxy this is.
    """

    def __init__(
        self, names: tuple[str, str], directory: Path, render: Render, program: Program
    ) -> None:
        self._name, self._group = names
        self._directory = directory
        self._render = render
        self._program = program
        self._one_at_a_time = asyncio.Lock()
        self._in_force: Artifact | None = None
        self._refused: dict[str, tuple[Route, str]] = {}

    @property
    def name(self) -> str:
        """Short name in status, metrics and logs."""
        return self._name

    def render(self, snapshot: Snapshot) -> Artifact:
        """Compile a snapshot, without the routes that the proxy refused as they are now."""
        return self._render(snapshot, self._left_out(snapshot))

    async def apply(self, artifact: Artifact) -> None:
        """Put an artifact in place and have it taken up.

        Raises:
            Rejected: it is older than what is in place, or is refused and no route explains it.
            Retryable: the folder cannot be written, or the proxy does not take it up.
        """
        async with self._one_at_a_time:
            try:
                self._fence(artifact)
                await self._put(artifact)
            except OSError as error:
                raise Retryable(
                    "plane_folder_unusable",
                    f"{self._directory} cannot be used for {self._name}: {error.strerror}; check "
                    "owner, mount and free space",
                ) from error

    async def observe(self) -> list[PlaneNode]:
        """The one proxy and what it runs."""
        runs = await self._program.runs()
        revision = (runs or "").partition(":")[0]
        return [
            PlaneNode(
                name=self._name,
                group=self._group,
                connected=runs is not None,
                revision=int(revision) if revision.isdigit() else 0,
            )
        ]

    async def repair(self) -> tuple[Observation, ...]:
        """Have the proxy run what is in place; what is not in force and why."""
        async with self._one_at_a_time:
            artifact = self._in_force
            # What is in place may be another process's, which repairs it itself.
            if artifact is None or _differs(artifact, await asyncio.to_thread(self._state)):
                return ()
            await self._program.repair(dict(artifact.parts))
            return artifact.notes

    async def _put(self, artifact: Artifact) -> None:
        before = await asyncio.to_thread(self._read)
        cleared = await self._cleared(artifact)
        await asyncio.to_thread(self._publish, cleared)
        self._fence(cleared)
        await self._program.take(before, dict(cleared.parts))
        self._in_force = cleared

    async def _cleared(self, artifact: Artifact) -> Artifact:
        """The artifact without the routes that the check refuses."""
        for _ in range(MOST_REFUSED + 1):
            words = await self._words(artifact)
            if words is None:
                return artifact
            route = await self._culprit(artifact.snapshot)
            if route is None:
                break
            log.warning("plane.route_left_out", plane=self._name, route=route.id, reason=words)
            self._refused[route.id] = (route, words)
            artifact = await asyncio.to_thread(self.render, artifact.snapshot)
        raise Rejected(
            "plane_refuses",
            f"{self._name} refuses the configuration, and no route explains it: {words}",
            {"words": words or ""},
        )

    async def _culprit(self, snapshot: Snapshot) -> Route | None:
        """The first route with which the check fails, of those that are not left out yet."""
        left_out = self._left_out(snapshot)
        routes = [r for r in snapshot.content.routes.routes if r.id not in left_out]
        if await self._refuses(snapshot, left_out, routes, 0):
            return None
        low, high = 0, len(routes)
        while high - low > 1:
            middle = (low + high) // 2
            if await self._refuses(snapshot, left_out, routes, middle):
                high = middle
            else:
                low = middle
        return routes[low] if routes else None

    async def _refuses(
        self, snapshot: Snapshot, left_out: Mapping[str, str], routes: list[Route], count: int
    ) -> bool:
        """Whether the check fails with the first so many routes."""
        behind = {route.id: "" for route in routes[count:]}
        some = await asyncio.to_thread(self._render, snapshot, {**left_out, **behind})
        return await self._words(some) is not None

    async def _words(self, artifact: Artifact) -> str | None:
        folder = self._directory / "checked"
        await asyncio.to_thread(_write, folder, dict(artifact.parts))
        return await self._program.check(folder)

    def _left_out(self, snapshot: Snapshot) -> dict[str, str]:
        same = {route.id: route for route in snapshot.content.routes.routes}
        return {
            name: words for name, (route, words) in self._refused.items() if same.get(name) == route
        }

    def _publish(self, artifact: Artifact) -> None:
        """Write a release and move the link to it; there is a whole one at any time."""
        releases = self._directory / RELEASES
        content = hashlib.sha256(b"".join(data for _, data in artifact.parts)).hexdigest()
        name = f"{artifact.revision}-{artifact.version[:16]}-{content[:8]}"
        folder = releases / name
        state = {"revision": artifact.revision, "version": artifact.version}
        # The proxy may be reading it; the last file says that it is whole.
        if not (folder / STATE_FILE).is_file():
            _write(folder, {**dict(artifact.parts), STATE_FILE: json.dumps(state).encode()})
        link = self._directory / f"{CURRENT}.{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.relative_to(self._directory))
        with _locked(self._directory / LOCK_FILE):
            # Since it was checked the process may have been stopped for any time.
            self._fence(artifact)
            link.replace(self._directory / CURRENT)
        self._forget_old(folder)

    def _forget_old(self, newest: Path) -> None:
        others = [one for one in (self._directory / RELEASES).iterdir() if one != newest]
        for old in sorted(others, key=lambda one: one.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def _read(self) -> Files:
        """The files in place, {} when there are none."""
        folder = self._directory / CURRENT
        if not folder.is_dir():
            return {}
        return {one.name: one.read_bytes() for one in folder.iterdir() if one.name != STATE_FILE}

    def _state(self) -> tuple[int, str]:
        """Revision and version in place; (0, "") before the first."""
        try:
            state = json.loads((self._directory / CURRENT / STATE_FILE).read_bytes())
        except FileNotFoundError:
            return 0, ""
        return state["revision"], state["version"]

    def _fence(self, artifact: Artifact) -> None:
        """A second writer may have been faster, also one before the last start."""
        newest, version = self._state()
        if artifact.revision > newest or not _differs(artifact, (newest, version)):
            return
        raise Rejected(
            "revision_not_newer",
            f"revision {artifact.revision} ({artifact.version[:12]}) is not newer than revision "
            f"{newest} ({version[:12]}), which {self._name} has; another writer was faster, build "
            "on the newest snapshot",
            {"offered": artifact.revision, "in_force": newest},
        )


def _differs(artifact: Artifact, state: tuple[int, str]) -> bool:
    return (artifact.revision, artifact.version) != state


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone among all processes; what happens inside takes microseconds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline_s = time.monotonic() + LOCK_S
        while not _took(descriptor):
            if time.monotonic() > deadline_s:
                raise BlockingIOError(errno.EAGAIN, "another process holds its lock")
            time.sleep(LOCK_S / 100)
        yield
    finally:
        os.close(descriptor)


def _took(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(folder: Path, files: Files) -> None:
    """Write a folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
