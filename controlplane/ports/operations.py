"""What operations need from outside: stores of their own, and who carries webhooks away.

Stores raise as those of `stores` do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from controlplane.domain.access import AuditEntry
from controlplane.domain.admission.flash_sale.life import Correction, Opening
from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.changes import Change
from controlplane.domain.operations.episodes import Episode
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun
from controlplane.domain.operations.timeline import Entry
from controlplane.domain.operations.webhooks import Delivery, DeliveryState, Webhook

T = TypeVar("T")


class ItemStore(Protocol[T]):
    """Named items of one kind: policies, scenarios, changes and the like, each a frozen value."""

    async def all(self) -> dict[str, T]:
        """Every item, by name."""

    async def put(
        self, name: str, item: T, audit: AuditEntry | None = None, before: T | None = None
    ) -> None:
        """Store it over what is there; with `before` Conflict when something else is there."""

    async def remove(self, name: str, audit: AuditEntry | None = None) -> None:
        """Drop it; nothing happens when it is gone."""


class DeliveryStore(Protocol):
    """Messages to webhooks, from the first try until they are forgotten."""

    async def put(self, delivery: Delivery) -> None:
        """Store one, or its next state over the earlier one."""

    async def by_id(self, delivery_id: str) -> Delivery:
        """One of them; NotFound."""

    async def recent(
        self,
        state: DeliveryState | None,
        limit: int,
        after: tuple[float, str] | None = None,
    ) -> list[Delivery]:
        """Newest first, of one state or of all; behind a (creation, id) if given."""

    async def prune(self, before_s: float) -> int:
        """Drop those made before that are over; how many went."""


class JournalStore(Protocol):
    """What happened, append-only until it is forgotten."""

    async def append(self, entries: Sequence[Entry]) -> None:
        """Add them, in this order."""

    async def between(self, since_s: float, until_s: float, limit: int) -> list[Entry]:
        """The oldest `limit` within, both ends included, by time."""

    async def prune(self, before_s: float) -> int:
        """Drop older ones; how many went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationStores:
    """The stores of operations, one for each kind of item."""

    alert_policies: ItemStore[AlertPolicy]
    episodes: ItemStore[Episode]
    scenarios: ItemStore[Scenario]
    runs: ItemStore[ScenarioRun]
    changes: ItemStore[Change]
    webhooks: ItemStore[Webhook]
    incidents: ItemStore[Incident]
    openings: ItemStore[Opening]
    corrections: ItemStore[Correction]
    deliveries: DeliveryStore
    journal: JournalStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back from a receiver; status 0 is nothing, `words` says why not."""

    status: int
    words: str = ""


class Carrier(Protocol):
    """Carries one message to a receiver; never raises for what the receiver does."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send it once, following no redirect, within its own deadline."""
