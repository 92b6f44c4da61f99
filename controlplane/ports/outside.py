"""What stands outside and answers for itself: metric sources and data planes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.sources import Answer, DeclaredSource


class MetricSource(Protocol):
    """One kind of metrics system that is asked for samples."""

    @property
    def name(self) -> str:
        """Short name in status and logs."""

    async def read(self, source: DeclaredSource, reading: str, time_s: float) -> Answer:
        """The answer to the question for one reading, for `time_s` (UTC epoch seconds).

        Raises `Retryable` when the source is away or fails, `Refused` when its credential
        cannot be used, `Invalid` when it refuses the question or its answer cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A snapshot rendered for one kind of data plane.

    Attributes:
        revision, version: of the snapshot.
        parts: named bytes, for people and golden files.
        snapshot: what it was made from, for a plane that can leave single items out.
        notes: what this plane cannot express, item by item.
    """

    revision: int
    version: str
    parts: tuple[tuple[str, bytes], ...]
    snapshot: Snapshot
    notes: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneNode:
    """One consumer and what it runs.

    Attributes:
        acked: version of each resource type that it acknowledged.
        refused: resource type -> its words, while a refusal stands.
    """

    name: str
    group: str
    connected: bool
    revision: int
    acked: tuple[tuple[str, str], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    seen_s: float = 0.0
    acks: int = 0
    nacks: int = 0


class DataPlane(Protocol):
    """One kind of data plane."""

    @property
    def name(self) -> str:
        """Short name in status, metrics and logs."""

    def render(self, snapshot: Snapshot) -> Artifact:
        """Pure translation; notes name what it cannot express."""

    async def apply(self, artifact: Artifact) -> None:
        """Put it in force; raises only `Retryable` or `Rejected`. An older revision than the
        one in force is `Rejected` here (fencing)."""

    async def observe(self) -> list[PlaneNode]:
        """Who runs what, by name."""

    async def repair(self) -> tuple[Observation, ...]:
        """Bring what is in force nearer to what was applied, after consumers have refused or
        lost some of it; asked again and again. Returns everything that is not in force as it
        was published, item by item; () when nothing is amiss. Raises as `apply`."""


class Processes(Protocol):
    """Programs on this machine, for planes that are configured by files."""

    def find(self, setting: str, name: str) -> str:
        """Path of a program: the given one, else one that is found; "" is none."""

    async def words_of(self, command: Sequence[str], timeout_s: float) -> str | None:
        """What a program says when it fails, None when it ends well; raises `Retryable` when it
        cannot be started or does not end in time."""

    def tell(self, pid_file: Path, number: int) -> bool:
        """Send a signal to the process whose id is in a file; whether there is one. Raises
        `Retryable` when it may not be reached."""

    async def until(self, holds: Callable[[], Awaitable[bool]], timeout_s: float) -> bool:
        """Wait until something holds; whether it came to that in time."""
