"""Training jobs without a process: a trainer that the test holds, and a queue over any stores."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.learning.jobs import JobParts, Jobs
from controlplane.engine.learning.models import Models
from controlplane.engine.learning.workshop import Workshop, WorkshopParts, WorkshopRules
from controlplane.engine.stages import Instruments
from controlplane.ports.learning import Told, Trainer, TrainingOrder
from controlplane.ports.stores import AuditLog, DecisionStore, JobStore, SampleStore

RULES = WorkshopRules(settings="quick", period_s=60.0, day_s=86_400.0, newest_s=172_800.0, kept=0.9)


@dataclass(slots=True)
class HeldTrainer:
    """Trains when told to; `orders` and `rows` are what it was given."""

    orders: list[TrainingOrder] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: int = 0
    error: Exception | None = None

    async def train(self, order: TrainingOrder, rows: AsyncIterator[str], told: Told) -> bytes:
        self.orders.append(order)
        self.rows.append("".join([piece async for piece in rows]))
        told(0.5, "halfway")
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        if self.error is not None:
            raise self.error
        return f"{order.service.name}:{len(self.orders):064d}".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStores:
    """What a queue of jobs stores."""

    samples: SampleStore
    decisions: DecisionStore
    jobs: JobStore
    audit: AuditLog


def workshop(stores: JobStores, fleets: Fleets, models: Models, trainer: Trainer) -> Workshop:
    parts = WorkshopParts(
        fleets=fleets,
        samples=stores.samples,
        decisions=stores.decisions,
        jobs=stores.jobs,
        trainer=trainer,
        models=models,
    )
    return Workshop(parts, RULES)


def jobs(stores: JobStores, at_work: Workshop, instruments: Instruments) -> Jobs:
    return Jobs(JobParts(store=stores.jobs, audit=stores.audit, workshop=at_work), instruments)
