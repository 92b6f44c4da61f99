"""The ports of operations in memory, beside `tests.fakes.stores`; never used outside tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.operations.timeline import Entry
from controlplane.domain.operations.webhooks import Delivery, DeliveryState
from controlplane.ports.operations import Answer, OperationStores
from tests.fakes.fleets import MemoryAuditLog, Outage

T = TypeVar("T")


@dataclass(slots=True)
class MemoryItemStore(Generic[T]):
    items: dict[str, T] = field(default_factory=dict)
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    outage: Outage = field(default_factory=Outage)

    async def all(self) -> dict[str, T]:
        self.outage.check()
        return dict(sorted(self.items.items()))

    async def put(
        self, name: str, item: T, audit: AuditEntry | None = None, before: T | None = None
    ) -> None:
        self.outage.check()
        if before is not None and self.items.get(name) != before:
            raise Conflict("operation_changed", f"{name} was changed")
        self.items[name] = item
        if audit is not None:
            await self.audit.append(audit)

    async def remove(self, name: str, audit: AuditEntry | None = None) -> None:
        self.outage.check()
        if self.items.pop(name, None) is not None and audit is not None:
            await self.audit.append(audit)


@dataclass(slots=True)
class MemoryDeliveryStore:
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    outage: Outage = field(default_factory=Outage)

    async def put(self, delivery: Delivery) -> None:
        self.outage.check()
        self.deliveries[delivery.id] = delivery

    async def by_id(self, delivery_id: str) -> Delivery:
        self.outage.check()
        if delivery_id not in self.deliveries:
            raise NotFound("delivery_not_found", f"there is no delivery {delivery_id!r}")
        return self.deliveries[delivery_id]

    async def recent(
        self, state: DeliveryState | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Delivery]:
        self.outage.check()
        found = sorted(
            self.deliveries.values(), key=lambda one: (one.created_s, one.id), reverse=True
        )
        return [
            one
            for one in found
            if (state is None or one.state is state)
            and (after is None or (one.created_s, one.id) < after)
        ][:limit]

    async def prune(self, before_s: float) -> int:
        self.outage.check()
        old = [
            one.id
            for one in self.deliveries.values()
            if one.created_s < before_s and one.state is not DeliveryState.WAITING
        ]
        for gone in old:
            del self.deliveries[gone]
        return len(old)


@dataclass(slots=True)
class MemoryJournalStore:
    entries: list[Entry] = field(default_factory=list)
    numbered: int = 0
    outage: Outage = field(default_factory=Outage)

    async def append(self, entries: Sequence[Entry]) -> None:
        self.outage.check()
        for entry in entries:
            self.numbered += 1
            self.entries.append(replace(entry, number=self.numbered))

    async def between(self, since_s: float, until_s: float, limit: int) -> list[Entry]:
        self.outage.check()
        found = [one for one in self.entries if since_s <= one.time_s <= until_s]
        return sorted(found, key=lambda one: (one.time_s, one.number))[:limit]

    async def prune(self, before_s: float) -> int:
        self.outage.check()
        kept = [one for one in self.entries if one.time_s >= before_s]
        gone = len(self.entries) - len(kept)
        self.entries = kept
        return gone


@dataclass(slots=True)
class Postbox:
    """A carrier that keeps what it was given; `answers` are given in turn, then 204."""

    answers: list[Answer] = field(default_factory=list)
    sent: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self.sent.append((url, dict(headers), body))
        return self.answers.pop(0) if self.answers else Answer(status=204)


def memory_operations(audit: MemoryAuditLog, outage: Outage) -> OperationStores:
    def items() -> MemoryItemStore[Any]:
        return MemoryItemStore(audit=audit, outage=outage)

    return OperationStores(
        alert_policies=items(),
        episodes=items(),
        scenarios=items(),
        runs=items(),
        changes=items(),
        webhooks=items(),
        incidents=items(),
        openings=items(),
        corrections=items(),
        deliveries=MemoryDeliveryStore(outage=outage),
        journal=MemoryJournalStore(outage=outage),
    )
