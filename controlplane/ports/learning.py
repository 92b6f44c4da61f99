"""Where models are made and kept: the trainer and the registry.

The registry is a store like the others and raises as they do; the trainer raises what its
methods say.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.access import AuditEntry
from controlplane.domain.promotions import Promotion
from controlplane.domain.services import Service
from controlplane.domain.strategies.situation import LearnedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOrder:
    """What to train.

    Attributes:
        service: as declared, two data centres or more, primary first.
        seed: the same rows and seed give the same model.
        day_s: length of a day, for the daily profile of the load.
        settings: name of the training settings.
    """

    service: Service
    seed: int
    day_s: float
    settings: str


# How far a training is, 0..1, and a word about it.
Told = Callable[[float, str], None]


class Trainer(Protocol):
    """Trains a model, in a process of its own."""

    async def train(self, order: TrainingOrder, rows: AsyncIterator[str], told: Told) -> bytes:
        """Read the data set (CSV text in pieces) once, train, return the artifact.

        Ends with everything that it started, also when it is cancelled.

        Raises:
            Invalid: the data set cannot be trained on; the message says why.
            Retryable: training is not possible here and now, or took too long.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """A registered model: its description (canonical JSON text) and which aliases point to it."""

    digest: str
    service: str
    created_s: float
    description: str
    aliases: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"service/{self.service} model/{self.digest}"


class ModelReports(Protocol):
    """What was measured about a model when it was trained, beside its files."""

    async def sheet(self, digest: str) -> str:
        """All that a report shows of the model, as JSON text (`models.reports.sheet`).

        Invalid when the model's files are damaged or gone."""


class ModelRegistry(Protocol):
    """Trained models, content-addressed, with aliases per service."""

    async def add(self, data: bytes, created_s: float, audit: AuditEntry) -> StoredModel:
        """Check and store an uploaded artifact; Invalid when it is damaged or of another schema.

        Only the registry can read what was uploaded, so it sets the entry's subject."""

    async def all(self, service: str | None) -> list[StoredModel]:
        """Newest first."""

    async def record(self, step: Promotion, audit: AuditEntry) -> None:
        """Append a step to the promotion log and set the aliases as `aliases_after` says.

        NotFound when the service has no such model."""

    async def promotions(self, service: str, limit: int) -> list[Promotion]:
        """The promotion log of a service, newest first."""

    async def by_digest(self, digest: str) -> LearnedModel:
        """One model, ready to predict; NotFound, or Invalid when its files are damaged or gone."""
