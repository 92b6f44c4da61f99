"""The store ports in memory, for tests of the engine, the API and the gateway side.

They pass the same behavioural suites as the SQL stores (tests/ports). `Outage` makes them fail
the way a database does that is away. Never used outside tests.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.access import AuditEntry, Token
from controlplane.domain.aggregates import MINUTE_S, Minute, condensed, minute_of
from controlplane.domain.decisions import Decision, Split, split_of
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.jobs import Job
from controlplane.domain.promotions import Alias, Promotion, aliases_after
from controlplane.domain.retraining import Coverage
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.domain.telemetry import Sample
from controlplane.ports.learning import StoredModel
from controlplane.ports.operations import OperationStores
from tests.fakes.fleets import MemoryAuditLog, MemoryFleetStore, Outage
from tests.fakes.health import MemoryHealthStore
from tests.fakes.intents import MemoryIntentStore
from tests.fakes.operations import memory_operations

Place = tuple[float, str] | None
LAST = (math.inf, "")


@dataclass(slots=True)
class MemorySnapshotStore:
    snapshots: list[Snapshot] = field(default_factory=list)
    outage: Outage = field(default_factory=Outage)

    async def latest(self) -> Snapshot | None:
        self.outage.check()
        return self.snapshots[-1] if self.snapshots else None

    async def newest_revision(self) -> int:
        self.outage.check()
        return self.snapshots[-1].revision if self.snapshots else 0

    async def append(self, snapshot: Snapshot, expected_revision: int) -> Snapshot:
        self.outage.check()
        newest = self.snapshots[-1].revision if self.snapshots else 0
        if newest != expected_revision:
            raise Conflict(
                "revision_conflict",
                f"the newest snapshot has revision {newest}, expected was {expected_revision}",
            )
        stored = replace(snapshot, revision=max(expected_revision, snapshot.revision) + 1)
        self.snapshots.append(stored)
        return stored

    async def at(self, revision: int) -> Snapshot:
        self.outage.check()
        for snapshot in self.snapshots:
            if snapshot.revision == revision:
                return snapshot
        raise NotFound("snapshot_not_found", f"there is no snapshot with revision {revision}")

    async def keep(self, newest: int) -> int:
        self.outage.check()
        dropped = max(0, len(self.snapshots) - newest)
        del self.snapshots[:dropped]
        return dropped


@dataclass(slots=True)
class MemoryDecisionStore:
    decisions: dict[str, Decision] = field(default_factory=dict)
    splits: dict[str, list[Split]] = field(default_factory=dict)
    outage: Outage = field(default_factory=Outage)

    async def record(self, decisions: Sequence[Decision]) -> None:
        self.outage.check()
        for decision in decisions:
            self.decisions.setdefault(decision.id, decision)
            splits = self.splits.setdefault(decision.service, [])
            split = split_of(decision)
            if not splits or splits[-1].shares != split.shares:
                splits.append(split)

    async def by_id(self, decision_id: str) -> Decision:
        self.outage.check()
        if decision_id not in self.decisions:
            raise NotFound("decision_not_found", f"there is no decision {decision_id}")
        return self.decisions[decision_id]

    async def recent(self, service: str | None, limit: int, after: Place = LAST) -> list[Decision]:
        self.outage.check()
        time_s, name = after or LAST
        own = [d for d in self.decisions.values() if service in (None, d.service)]
        wanted = [d for d in own if (-d.time_s, d.id) > (-time_s, name)]
        return sorted(wanted, key=lambda d: (-d.time_s, d.id))[:limit]

    async def newest(self) -> dict[str, Decision]:
        self.outage.check()
        ordered = sorted(self.decisions.values(), key=lambda d: d.time_s)
        return {decision.service: decision for decision in ordered}

    async def history(self, service: str, time_s: float) -> list[Split]:
        self.outage.check()
        splits = self.splits.get(service, [])
        earlier = sum(split.time_s <= time_s for split in splits)
        return splits[max(0, earlier - 1) :]

    async def prune(self, before_s: float) -> int:
        self.outage.check()
        old = [key for key, decision in self.decisions.items() if decision.time_s < before_s]
        for key in old:
            del self.decisions[key]
        self.splits = {name: await self.history(name, before_s) for name in self.splits}
        return len(old)


@dataclass(slots=True)
class MemorySampleStore:
    samples: dict[tuple[str, float, str], Sample] = field(default_factory=dict)
    outage: Outage = field(default_factory=Outage)

    async def append(self, samples: Sequence[Sample]) -> None:
        self.outage.check()
        self.samples.update({(s.service, s.time_s, s.datacenter): s for s in samples})

    async def since(self, service: str, time_s: float) -> list[Sample]:
        self.outage.check()
        keys = sorted(k for k in self.samples if k[0] == service and k[1] >= time_s)
        return [self.samples[key] for key in keys]

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        self.outage.check()
        keys = sorted(k for k in self.samples if k[0] == service and k[1:] > after)
        return [self.samples[key] for key in keys[:1_000]]

    async def coverage(self, service: str) -> Coverage:
        self.outage.check()
        times = {time_s for name, time_s, _ in self.samples if name == service}
        return Coverage(first_s=min(times), rows=len(times)) if times else Coverage()

    async def heard_s(self, service: str) -> float | None:
        self.outage.check()
        return max((time_s for name, time_s, _ in self.samples if name == service), default=None)


@dataclass(slots=True)
class MemoryMinuteStore:
    raw: MemorySampleStore
    minutes: dict[tuple[str, int, str], Minute] = field(default_factory=dict)

    async def condense(self, before_s: float) -> int:
        self.raw.outage.check()
        end_s = minute_of(before_s) * MINUTE_S
        old = [key for key in self.raw.samples if key[1] < end_s]
        for key in old:
            service, time_s, datacenter = key
            place = (service, minute_of(time_s), datacenter)
            known = [self.minutes[place]] if place in self.minutes else []
            self.minutes[place] = condensed([*known, Minute(sample=self.raw.samples.pop(key))])
        return len(old)

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        self.raw.outage.check()
        own = [minute.sample for key, minute in self.minutes.items() if key[0] == service]
        ordered = sorted((s.time_s, s.datacenter, n) for n, s in enumerate(own))
        return [own[n] for time_s, center, n in ordered if (time_s, center) > after][:1_000]

    async def prune(self, before_s: float) -> int:
        self.raw.outage.check()
        old = [key for key in self.minutes if key[1] < minute_of(before_s)]
        for key in old:
            del self.minutes[key]
        return len(old)


@dataclass(slots=True)
class MemoryJobStore:
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)
    jobs: dict[str, Job] = field(default_factory=dict)

    async def put(self, job: Job, audit: AuditEntry | None = None) -> None:
        self.outage.check()
        self.jobs[job.id] = job
        if audit is not None:
            self.audit.entries.append(audit)

    async def by_id(self, job_id: str) -> Job:
        self.outage.check()
        if job_id not in self.jobs:
            raise NotFound("job_not_found", f"there is no job {job_id}")
        return self.jobs[job_id]

    async def recent(self, service: str | None, limit: int, after: Place = LAST) -> list[Job]:
        self.outage.check()
        own = [job for job in self.jobs.values() if service in (None, job.service)]
        wanted = [job for job in own if (job.created_s, job.id) < (after or LAST)]
        return sorted(wanted, key=lambda j: (j.created_s, j.id), reverse=True)[:limit]

    async def unfinished(self) -> list[Job]:
        self.outage.check()
        jobs = [job for job in self.jobs.values() if not job.final]
        return sorted(jobs, key=lambda j: (j.created_s, j.id))

    async def prune(self, before_s: float) -> int:
        self.outage.check()
        old = [key for key, job in self.jobs.items() if job.final and job.created_s < before_s]
        for key in old:
            del self.jobs[key]
        return len(old)


@dataclass(slots=True)
class MemoryTokenStore:
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)
    tokens: dict[str, Token] = field(default_factory=dict)

    async def by_digest(self, digest: str) -> Token | None:
        self.outage.check()
        return next((t for t in self.tokens.values() if t.digest == digest), None)

    async def all(self) -> list[Token]:
        self.outage.check()
        return sorted(self.tokens.values(), key=lambda t: (t.created_s, t.id))

    async def add(self, token: Token, audit: AuditEntry) -> None:
        self.outage.check()
        if token.id in self.tokens or await self.by_digest(token.digest) is not None:
            raise Conflict("token_exists", f"a token with id {token.id} exists")
        self.tokens[token.id] = token
        self.audit.entries.append(audit)

    async def revoke(self, token_id: str, time_s: float, audit: AuditEntry) -> None:
        self.outage.check()
        token = self.tokens.get(token_id)
        if token is None:
            raise NotFound("token_not_found", f"there is no token with id {token_id}")
        if token.revoked_s is None:
            self.tokens[token_id] = replace(token, revoked_s=time_s)
        self.audit.entries.append(audit)


# Reads an uploaded artifact: (stored without alias, ready to predict); Invalid when damaged.
ReadArtifact = Callable[[bytes, float], tuple[StoredModel, LearnedModel]]


def read_label(data: bytes, created_s: float) -> tuple[StoredModel, LearnedModel]:
    """The artifact of tests without numbers: `service:digest` as bytes, no network behind it."""
    service, _, digest = data.decode().partition(":")
    stored = StoredModel(digest=digest, service=service, created_s=created_s, description="{}")
    return stored, LearnedModel(digest=digest)


@dataclass(slots=True)
class MemoryModelRegistry:
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)
    read: ReadArtifact = read_label
    stored: dict[str, StoredModel] = field(default_factory=dict)
    learned: dict[str, LearnedModel] = field(default_factory=dict)
    aliases: dict[str, dict[Alias, str]] = field(default_factory=dict)
    steps: list[Promotion] = field(default_factory=list)

    def put(self, service: str, alias: Alias, model: LearnedModel) -> None:
        """Place a ready model behind an alias, without upload and audit."""
        self.stored[model.digest] = StoredModel(
            digest=model.digest, service=service, created_s=0.0, description="{}"
        )
        self.learned[model.digest] = model
        self.aliases.setdefault(service, {})[alias] = model.digest

    async def add(self, data: bytes, created_s: float, audit: AuditEntry) -> StoredModel:
        self.outage.check()
        stored, learned = self.read(data, created_s)
        self.stored.setdefault(stored.digest, stored)
        self.learned.setdefault(stored.digest, learned)
        self.audit.entries.append(replace(audit, subject=stored.subject))
        return self._with_aliases(self.stored[stored.digest])

    async def all(self, service: str | None) -> list[StoredModel]:
        self.outage.check()
        wanted = [m for m in self.stored.values() if service in (None, m.service)]
        ordered = sorted(wanted, key=lambda m: (-m.created_s, m.digest))
        return [self._with_aliases(model) for model in ordered]

    async def record(self, step: Promotion, audit: AuditEntry) -> None:
        self.outage.check()
        if step.model not in self.stored or self.stored[step.model].service != step.service:
            raise NotFound(
                "model_not_found", f"service {step.service} has no model {step.model[:12]}"
            )
        self.steps.append(step)
        self.aliases[step.service] = aliases_after(self.aliases.get(step.service, {}), step)
        self.audit.entries.append(audit)

    async def promotions(self, service: str, limit: int) -> list[Promotion]:
        self.outage.check()
        return [step for step in reversed(self.steps) if step.service == service][:limit]

    async def by_digest(self, digest: str) -> LearnedModel:
        self.outage.check()
        if digest not in self.learned:
            raise NotFound("model_not_found", f"no model has the digest {digest[:12]}")
        return self.learned[digest]

    def _with_aliases(self, model: StoredModel) -> StoredModel:
        aliases = self.aliases.get(model.service, {})
        names = sorted(alias for alias, digest in aliases.items() if digest == model.digest)
        return replace(model, aliases=tuple(names))


@dataclass(slots=True)
class MemoryStores:
    """All stores over one audit log and one switch, named as in adapters.sql.stores."""

    outage: Outage = field(default_factory=Outage)
    audit: MemoryAuditLog = field(init=False)
    fleets: MemoryFleetStore = field(init=False)
    snapshots: MemorySnapshotStore = field(init=False)
    decisions: MemoryDecisionStore = field(init=False)
    samples: MemorySampleStore = field(init=False)
    minutes: MemoryMinuteStore = field(init=False)
    tokens: MemoryTokenStore = field(init=False)
    models: MemoryModelRegistry = field(init=False)
    jobs: MemoryJobStore = field(init=False)
    intents: MemoryIntentStore = field(init=False)
    operations: OperationStores = field(init=False)
    health: MemoryHealthStore = field(init=False)

    def __post_init__(self) -> None:
        self.audit = MemoryAuditLog(outage=self.outage)
        self.fleets = MemoryFleetStore(audit=self.audit, outage=self.outage)
        self.snapshots = MemorySnapshotStore(outage=self.outage)
        self.decisions = MemoryDecisionStore(outage=self.outage)
        self.samples = MemorySampleStore(outage=self.outage)
        self.minutes = MemoryMinuteStore(raw=self.samples)
        self.tokens = MemoryTokenStore(audit=self.audit, outage=self.outage)
        self.models = MemoryModelRegistry(audit=self.audit, outage=self.outage)
        self.jobs = MemoryJobStore(audit=self.audit, outage=self.outage)
        self.intents = MemoryIntentStore(audit=self.audit, outage=self.outage)
        self.operations = memory_operations(self.audit, self.outage)
        self.health = MemoryHealthStore()
