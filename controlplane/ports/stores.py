"""Stores: where the control plane keeps what it knows, one port for each kind of fact.

Every write carries the audit entry that the store appends in the same transaction. Stores raise
`Retryable` when they are away and `Conflict` when an expected revision or generation is no longer
the newest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.access import AuditEntry, Token
from controlplane.domain.decisions import Decision, Split
from controlplane.domain.intents.intent import Intent
from controlplane.domain.jobs import Job
from controlplane.domain.retraining import Coverage
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFleet:
    """The fleet with its generation (1, 2, ...), which a change must name."""

    fleet: Fleet
    generation: int


class FleetStore(Protocol):
    """The declared fleet."""

    async def load(self) -> StoredFleet:
        """The newest fleet; an empty one with generation 0 when none was ever declared."""

    async def replace(
        self,
        fleet: Fleet,
        expected_generation: int,
        audit: AuditEntry,
        after: int = 0,
        revisions: Sequence[RouteRevision] = (),
    ) -> StoredFleet:
        """Store the next generation; Conflict when the newest is not `expected_generation`.

        Its generation is one more than that, or one more than `after` if that is later. The
        revisions of its routes are stored with it."""

    async def at(self, generation: int) -> Fleet:
        """The fleet of a generation; NotFound."""

    async def revisions(
        self, route: str | None, limit: int, before: int | None = None
    ) -> list[RouteRevision]:
        """Newest first, of one route or of all; those with a number below `before` if given."""

    async def revision(self, number: int) -> RouteRevision:
        """One revision; NotFound."""


class SnapshotStore(Protocol):
    """Published snapshots, append-only."""

    async def latest(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""

    async def newest_revision(self) -> int:
        """Its revision, 0 before the first; cheap enough to be asked four times a second."""

    async def append(self, snapshot: Snapshot, expected_revision: int) -> Snapshot:
        """Store it as the newest; Conflict when the newest is not of `expected_revision`.

        Its revision becomes `expected_revision` + 1, or one more than its own if that is later:
        a snapshot that is published already goes forward also over a store that went back."""

    async def at(self, revision: int) -> Snapshot:
        """The snapshot of a revision; NotFound, also after it was dropped."""

    async def keep(self, newest: int) -> int:
        """Drop all but the `newest` (>= 1) ones; how many went."""


class DecisionStore(Protocol):
    """Decisions, append-only until they expire. Only what was published is recorded."""

    async def record(self, decisions: Sequence[Decision]) -> None:
        """Append the decisions of one cycle, later ones after earlier ones."""

    async def by_id(self, decision_id: str) -> Decision:
        """One decision; NotFound."""

    async def recent(
        self, service: str | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Decision]:
        """Newest first, then by id, of one service or of all; behind a (time, id) if given."""

    async def newest(self) -> dict[str, Decision]:
        """Service -> its newest decision; read once at start."""

    async def history(self, service: str, time_s: float) -> list[Split]:
        """By time: the split in force at `time_s`, if known, and each later one that differs
        from the one before it. It stays known when the decisions behind it have expired."""


class SampleStore(Protocol):
    """Raw samples, for windows after a restart and for data sets."""

    async def append(self, samples: Sequence[Sample]) -> None:
        """Store samples; the same (service, data centre, time) replaces the earlier one."""

    async def since(self, service: str, time_s: float) -> list[Sample]:
        """Samples of one service with sender's time >= `time_s`, by time, then data centre."""

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """Some thousands in the same order, behind a (time, data centre); [] at the end."""

    async def coverage(self, service: str) -> Coverage:
        """Since when and for how many times a service has samples."""

    async def heard_s(self, service: str) -> float | None:
        """Sender's time of the newest sample of a service; None without one."""


# `reason` in the details of `store_unavailable`: `StoreCare.put_back` can help, or waiting.
FILES_GONE = "file_gone"
STORE_LOCKED, STORE_SLOW = "locked", "deadline"
STORE_BUSY = frozenset({STORE_LOCKED, STORE_SLOW})


class StoreCare(Protocol):
    """Looks after the store as a whole."""

    async def probe(self) -> None:
        """Write something that changes nothing; Retryable says why nothing can be written."""

    async def put_back(self) -> None:
        """Write all data to the place of files that are gone; Retryable when that fails now."""


class MinuteStore(Protocol):
    """Minute means, which outlive the raw samples that they are made of."""

    async def condense(self, before_s: float) -> int:
        """Move the raw samples of minutes before that of `before_s` into those minutes, in
        transactions of bounded size; how many samples went. A sample is in one place at any
        time, also when this ends halfway."""

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """As `SampleStore.page`: each is the mean of one minute, with its newest sample's time."""

    async def prune(self, before_s: float) -> int:
        """As `Expiring.prune`."""


class Pages(Protocol):
    """What gives samples by time, page by page."""

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """As `SampleStore.page`."""


class Expiring(Protocol):
    """A store that forgets what is old: decisions and jobs."""

    async def prune(self, before_s: float) -> int:
        """Drop what is of a time < `before_s`, in transactions of bounded size; how many went."""


class JobStore(Protocol):
    """Jobs by id; unfinished ones never expire."""

    async def put(self, job: Job, audit: AuditEntry | None = None) -> None:
        """Store a job, or its next state over the earlier one."""

    async def by_id(self, job_id: str) -> Job:
        """One job; NotFound."""

    async def recent(
        self, service: str | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Job]:
        """Newest first, of one service or of all; behind a (creation, id) if given."""

    async def unfinished(self) -> list[Job]:
        """Jobs that are queued or running, oldest first."""


class IntentStore(Protocol):
    """Intents; changes of all of them are numbered together."""

    async def standing(self) -> list[Intent]:
        """Those that have not ended, by number."""

    async def change(self) -> int:
        """Number of the newest change; 0 before the first."""

    async def put(
        self, intents: Sequence[Intent], expected_change: int, audit: Sequence[AuditEntry] = ()
    ) -> None:
        """Store intents, or their next states over the earlier ones, all or none; Conflict when
        the newest change is not `expected_change`."""

    async def by_id(self, intent_id: str) -> Intent:
        """One intent; NotFound."""

    async def recent(self, limit: int, before: int | None = None) -> list[Intent]:
        """The latest made first; those with a number below `before` if given."""


class TokenStore(Protocol):
    """Tokens by the digest of their secret."""

    async def by_digest(self, digest: str) -> Token | None:
        """The token, also an expired or revoked one."""

    async def all(self) -> list[Token]:
        """Every token, by creation."""

    async def add(self, token: Token, audit: AuditEntry) -> None:
        """Store a new token; Conflict when the id exists."""

    async def revoke(self, token_id: str, time_s: float, audit: AuditEntry) -> None:
        """End a token now; NotFound."""


class AuditLog(Protocol):
    """The append-only record of writes."""

    async def append(self, entry: AuditEntry) -> None:
        """Append one entry that belongs to no other store's write."""

    async def recent(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """Newest first, with their numbers; those below `before` if given."""
