"""Services that a cycle could not decide or build: what stands, and how often it happened.

The loop reports each cycle's faults here. One that goes on is logged once, with its traceback,
and counted each time; so is its end.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import structlog

log = structlog.get_logger(__name__)


class Step(StrEnum):
    """Where a service failed."""

    DECIDE = "decide"
    BUILD = "build"


EVENTS: Mapping[Step, str] = {Step.DECIDE: "decision.failed", Step.BUILD: "service.not_built"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One service at one step; its shares, or what is published of it, stay as they are."""

    service: str
    step: Step
    error: Exception


class Faults:
    """Standing faults by service; `counts` since the start, for /metrics."""

    def __init__(self) -> None:
        self.counts: Counter[Step] = Counter()
        self._standing: dict[tuple[Step, str], str] = {}

    @property
    def services(self) -> tuple[str, ...]:
        """Services with a standing fault, sorted."""
        return tuple(sorted({service for _, service in self._standing}))

    def report(self, step: Step, faults: Iterable[Fault], untried: Collection[str] = ()) -> None:
        """Take the faults of one cycle; earlier ones end, but for services that were not tried."""
        found = {fault.service: fault for fault in faults}
        self.counts[step] += len(found)
        for service, fault in found.items():
            words = f"{type(fault.error).__name__}: {fault.error}"
            if self._standing.get((step, service)) != words:
                self._standing[step, service] = words
                log.error(EVENTS[step], service=service, reason=words, exc_info=fault.error)
        ours = [service for stood, service in self._standing if stood is step]
        for service in ours:
            if service not in found and service not in untried:
                del self._standing[step, service]
                log.info("service.sound_again", service=service, step=step)
