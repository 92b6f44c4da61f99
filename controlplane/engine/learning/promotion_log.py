"""The promotion log: each step of a model is one entry of it and of the audit log.

Both in one transaction, by the registry. Written and read by `models`; decides nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from controlplane.domain.access import AccessRole, AuditEntry, Principal
from controlplane.domain.promotions import Promotion, PromotionEvent
from controlplane.ports.learning import ModelRegistry

log = structlog.get_logger(__name__)

# Who acts when nobody asked.
OURSELVES = Principal(token_id="", name="signalbox", role=AccessRole.ADMIN)
ACTIONS: Mapping[PromotionEvent, str] = {
    PromotionEvent.ENROLLED: "model.enroll",
    PromotionEvent.REFUSED: "model.refuse",
    PromotionEvent.PROMOTED: "model.promote",
    PromotionEvent.ROLLED_BACK: "model.rollback",
    PromotionEvent.DEMOTED: "model.demote",
}
# Far more steps than a service makes in a year of weekly training.
LOG_READ = 1_000


class PromotionLog:
    """The log of a registry; `steps` counts since the start of this process."""

    def __init__(self, registry: ModelRegistry, now: Callable[[], float]) -> None:
        self._registry = registry
        self._now = now
        self.steps: Counter[PromotionEvent] = Counter()

    async def of(self, service: str, limit: int = LOG_READ) -> list[Promotion]:
        """The newest steps of a service, newest first."""
        return await self._registry.promotions(service, limit)

    async def write(self, step: Promotion, author: Principal, reason: str) -> Promotion:
        """Write one step down; the step with who made it and why."""
        step = replace(step, author=author.name, reason=reason)
        audit = replace(
            self.audit(ACTIONS[step.event], author, reason),
            subject=f"service/{step.service}",
            before=step.before,
            after=step.model,
        )
        await self._registry.record(step, audit)
        self.steps[step.event] += 1
        log.info(
            "model.step",
            step=step.event,
            service=step.service,
            digest=step.model,
            author=step.author,
            reason=reason,
        )
        return step

    def audit(self, action: str, author: Principal, reason: str) -> AuditEntry:
        """An entry of the audit log, now, about nothing yet."""
        return AuditEntry(
            time_s=self._now(), author=author.name, action=action, subject="", reason=reason
        )
