"""The store of intents in memory; see tests/fakes/stores.py."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.intents.intent import Intent
from tests.fakes.fleets import MemoryAuditLog, Outage


@dataclass(slots=True)
class MemoryIntentStore:
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)
    intents: dict[int, Intent] = field(default_factory=dict)

    async def standing(self) -> list[Intent]:
        self.outage.check()
        return [one for _, one in sorted(self.intents.items()) if one.standing]

    async def change(self) -> int:
        self.outage.check()
        return max((one.change for one in self.intents.values()), default=0)

    async def put(
        self, intents: Sequence[Intent], expected_change: int, audit: Sequence[AuditEntry] = ()
    ) -> None:
        newest = await self.change()
        if newest != expected_change:
            raise Conflict("intents_changed", f"at change {newest}, not at {expected_change}")
        self.intents |= {one.number: one for one in intents}
        self.audit.entries.extend(audit)

    async def by_id(self, intent_id: str) -> Intent:
        self.outage.check()
        for one in self.intents.values():
            if one.id == intent_id:
                return one
        raise NotFound("intent_not_found", f"there is no intent {intent_id}")

    async def recent(self, limit: int, before: int | None = None) -> list[Intent]:
        self.outage.check()
        found = [one for number, one in self.intents.items() if before is None or number < before]
        return sorted(found, key=lambda one: one.number, reverse=True)[:limit]
