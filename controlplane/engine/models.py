"""Models in service: the champion of each service, kept in memory, changed by promotion.

Called by the API (add, promote) and read by the loop. A model that cannot be loaded is never
put in service; the one before it stays.
"""

from collections.abc import Mapping
from dataclasses import replace

import structlog

from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.engine.fleets import Fleets
from controlplane.engine.stages import Instruments
from controlplane.ports import ModelRegistry, StoredModel

log = structlog.get_logger(__name__)

CHAMPION = "champion"


class Models:
    """The registry and what is loaded from it."""

    def __init__(self, registry: ModelRegistry, fleets: Fleets, instruments: Instruments) -> None:
        self._registry = registry
        self._fleets = fleets
        self._now = instruments.now
        self._champions: dict[str, LearnedModel] = {}

    @property
    def champions(self) -> Mapping[str, LearnedModel]:
        """Service -> the model that decides now."""
        return self._champions

    async def restore(self) -> None:
        """Load every champion; one that is damaged is reported and left out."""
        for service in self._fleets.current.fleet.services:
            try:
                model = await self._registry.load(service.name, CHAMPION)
            except (Invalid, NotFound) as error:
                log.warning("model.unreadable", service=service.name, reason=error.message)
                continue
            if model is not None:
                self._champions[service.name] = model

    async def all(self, service: str | None = None) -> list[StoredModel]:
        """Registered models, newest first."""
        return await self._registry.all(service)

    async def add(self, data: bytes, author: Principal, reason: str = "") -> StoredModel:
        """Register an artifact; Invalid when it is damaged or for another schema."""
        return await self._registry.add(data, self._now(), self._audit("model.add", author, reason))

    async def promote(self, service: str, digest: str, author: Principal, reason: str = "") -> None:
        """Make a registered model the champion of its service, from the next cycle on.

        Raises:
            NotFound: the service is not declared, or has no such model.
            Invalid: the model cannot be read; the champion before it stays.
        """
        self._fleets.current.fleet.service(service)
        if digest not in {model.digest for model in await self._registry.all(service)}:
            raise NotFound("model_not_found", f"service {service} has no model {digest}")
        audit = replace(
            self._audit("model.promote", author, reason),
            subject=f"service/{service}",
            before=self._serving(service),
            after=digest,
        )
        await self._registry.point(service, CHAMPION, digest, audit)
        model = await self._registry.load(service, CHAMPION)
        if model is not None:
            self._champions[service] = model
            log.info("model.promoted", service=service, digest=digest, author=author.name)

    def _serving(self, service: str) -> str:
        model = self._champions.get(service)
        return model.digest if model is not None else ""

    def _audit(self, action: str, author: Principal, reason: str) -> AuditEntry:
        return AuditEntry(
            time_s=self._now(), author=author.name, action=action, subject="", reason=reason
        )
