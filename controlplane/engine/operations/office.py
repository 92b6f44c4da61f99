"""The office: all of operations together, as the API, the metrics and the tasks see them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.webhooks import Webhook
from controlplane.engine.operations.alerts import Alerts
from controlplane.engine.operations.changes import Changes
from controlplane.engine.operations.incidents import Incidents
from controlplane.engine.operations.intent_desk import Desk
from controlplane.engine.operations.items import Items
from controlplane.engine.operations.journal import Journal
from controlplane.engine.operations.sales import Sales
from controlplane.engine.operations.scenarios import Scenarios
from controlplane.engine.operations.watch import Watch
from controlplane.engine.operations.webhooks import Messenger
from controlplane.ports.operations import DeliveryStore


class Restorable(Protocol):
    """What the last process has left in the store."""

    async def restore(self) -> None:
        """Read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """Everything around intents.

    Attributes:
        items: of every kind, to be restored first.
    """

    desk: Desk
    items: tuple[Restorable, ...]
    policies: Items[AlertPolicy]
    alerts: Alerts
    scenarios: Scenarios
    changes: Changes
    webhooks: Items[Webhook]
    messenger: Messenger
    deliveries: DeliveryStore
    incidents: Incidents
    sales: Sales
    journal: Journal
    watch: Watch

    async def restore(self) -> None:
        """Take up what the last process left; intents are restored before."""
        for items in self.items:
            await items.restore()
        await self.desk.restore()
        await self.alerts.restore()
        await self.messenger.restore()
        self.watch.begin()

    @property
    def tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """What runs until the process ends, by name."""
        return {
            "alerts": self.alerts.run,
            "changes": self.changes.run,
            "incidents": self.incidents.run,
            "sales": self.sales.run,
            "scenarios": self.scenarios.run,
            "watch": self.watch.run,
            "journal": self.journal.run,
            "webhooks": self.messenger.run,
        }
