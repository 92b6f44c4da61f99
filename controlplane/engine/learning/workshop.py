"""The workshop: from a training job to a registered model.

Called by `jobs` for one job at a time. Chooses the rows, streams them to the trainer, and
hands the artifact to `models`, which decides whether it ever serves.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.errors import Retryable
from controlplane.domain.jobs import Job, JobState
from controlplane.domain.retraining import Generation, RowChoice
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.learning.dataset import RowMaker, pieces
from controlplane.engine.learning.models import Models
from controlplane.ports.learning import Trainer, TrainingOrder
from controlplane.ports.stores import DecisionStore, JobStore, Pages

log = structlog.get_logger(__name__)

T = TypeVar("T")

STORE_RETRY_S = 1.0
# A row survives a training with 0.9, so those of a hundred trainings ago do not count any more.
GENERATIONS = 100

# Progress 0..1, a word about it, and the rows of the data set so far.
Told = Callable[[float, str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopParts:
    """What it reads from and hands over to."""

    fleets: Fleets
    samples: Pages
    decisions: DecisionStore
    jobs: JobStore
    trainer: Trainer
    models: Models


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopRules:
    """How data sets are made; times in seconds, scaled.

    Attributes:
        settings: name of the training settings.
        period_s: length of a sample's period; day_s: of a day.
        newest_s, kept: which rows are used, see `domain.retraining`.
    """

    settings: str
    period_s: float
    day_s: float
    newest_s: float
    kept: float


class Workshop:
    """Makes models."""

    def __init__(self, parts: WorkshopParts, rules: WorkshopRules) -> None:
        self._parts = parts
        self._rules = rules

    def check(self, service: str) -> None:
        """Raise NotFound or Invalid when a service cannot have a model at all."""
        declared = self._parts.fleets.current.fleet.service(service)
        RowMaker(declared, (), self._rules.period_s)

    def knows(self, service: str) -> bool:
        """Whether the service is declared."""
        declared = self._parts.fleets.current.fleet.services
        return any(one.name == service for one in declared)

    async def make(self, job: Job, told: Told) -> str:
        """Train and register; the model's digest.

        Raises:
            ControlPlaneError: why there is no model.
        """
        parts, rules = self._parts, self._rules
        service = parts.fleets.current.fleet.service(job.service)
        choice = await self._choice(job)
        splits = await parts.decisions.history(service.name, 0.0)
        maker = RowMaker(service, splits, rules.period_s, choice.takes)
        order = TrainingOrder(
            service=service, seed=job.seed, day_s=rules.day_s, settings=rules.settings
        )
        data = await parts.trainer.train(
            order,
            pieces(maker, parts.samples, 0.0),
            lambda progress, message: told(progress, message, maker.rows),
        )
        told(1.0, "registering", maker.rows)
        author = Principal(token_id="", name=job.author, role=AccessRole.SCIENTIST)
        reason = f"{job.trigger} training, job {job.id}"
        stored = await until_stored(lambda: parts.models.enroll(data, author, reason))
        return stored.digest

    async def _choice(self, job: Job) -> RowChoice:
        """Which rows: by the trainings before, and this one's own draw."""
        earlier = [
            Generation(time_s=other.started_s, seed=other.seed)
            for other in await self._parts.jobs.recent(job.service, GENERATIONS)
            if other.state is JobState.SUCCEEDED and other.started_s is not None
        ]
        own = Generation(time_s=job.started_s or job.created_s, seed=job.seed)
        return RowChoice(
            generations=(*sorted(earlier, key=lambda one: one.time_s), own),
            newest_s=self._rules.newest_s,
            kept=self._rules.kept,
        )


async def until_stored(write: Callable[[], Awaitable[T]]) -> T:
    """Repeat a write while the store is away: minutes of training must not be lost with it."""
    reason = ""
    while True:
        try:
            return await write()
        except Retryable as error:
            # Once, not at every try.
            if error.message != reason:
                reason = error.message
                log.warning("job.store_away", reason=reason)
            await asyncio.sleep(max(STORE_RETRY_S, error.after_s))
