"""The fleet store in memory, with the audit log and the outage that all stores in memory share."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound, Retryable
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.topology import Fleet
from controlplane.ports.stores import StoredFleet


@dataclass(slots=True)
class Outage:
    """A switch shared by several stores: while `away`, every call raises Retryable."""

    away: bool = False

    def check(self) -> None:
        if self.away:
            raise Retryable(
                "store_unavailable", "the database does not answer (test)", {"reason": "away"}
            )


@dataclass(slots=True)
class MemoryAuditLog:
    entries: list[AuditEntry] = field(default_factory=list)
    outage: Outage = field(default_factory=Outage)

    async def append(self, entry: AuditEntry) -> None:
        self.outage.check()
        self.entries.append(entry)

    async def recent(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        self.outage.check()
        numbered = [replace(entry, number=n) for n, entry in enumerate(self.entries, 1)]
        return [e for e in reversed(numbered) if before is None or e.number < before][:limit]


@dataclass(slots=True)
class MemoryFleetStore:
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)
    newest: StoredFleet = field(default_factory=lambda: StoredFleet(fleet=Fleet(), generation=0))
    earlier: dict[int, Fleet] = field(default_factory=dict)
    published: list[RouteRevision] = field(default_factory=list)

    async def load(self) -> StoredFleet:
        self.outage.check()
        return self.newest

    async def at(self, generation: int) -> Fleet:
        self.outage.check()
        if generation not in self.earlier:
            raise NotFound("generation_not_found", f"no fleet has the generation {generation}")
        return self.earlier[generation]

    async def revisions(
        self, route: str | None, limit: int, before: int | None = None
    ) -> list[RouteRevision]:
        self.outage.check()
        wanted = [
            one
            for one in reversed(self.published)
            if route in (None, one.route) and (before is None or one.number < before)
        ]
        return wanted[:limit]

    async def revision(self, number: int) -> RouteRevision:
        self.outage.check()
        for one in self.published:
            if one.number == number:
                return one
        raise NotFound("revision_not_found", f"no route has a revision {number}")

    async def replace(
        self,
        fleet: Fleet,
        expected_generation: int,
        audit: AuditEntry,
        after: int = 0,
        revisions: Sequence[RouteRevision] = (),
    ) -> StoredFleet:
        self.outage.check()
        if self.newest.generation != expected_generation:
            raise Conflict(
                "generation_conflict",
                f"the newest fleet has generation {self.newest.generation}, the change names "
                f"{expected_generation}",
            )
        self.newest = StoredFleet(fleet=fleet, generation=max(expected_generation, after) + 1)
        self.earlier[self.newest.generation] = fleet
        for number, one in enumerate(revisions, len(self.published) + 1):
            generation = self.newest.generation
            self.published.append(replace(one, number=number, generation=generation))
        self.audit.entries.append(audit)
        return self.newest
