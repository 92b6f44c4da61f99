"""What is told of decisions: counts, and a line in the log for each that does not let go on.

Told by `pipeline`. Lines are bounded: beyond `MOST_LINES` a second they are counted only, because
a wave of refusals must not become a wave of writing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.admission.policy import Mode, PolicyKind

log = structlog.get_logger()
MOST_LINES = 1_000
LONGEST_TEXT = 200
# Who is served, be it from what is known already, is counted and not said.
SERVED = frozenset({Verdict.ADMIT, Verdict.ANSWER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one policy said.

    Attributes:
        fell_back: why it did so without shared state; "" when it had it.
    """

    policy: str
    kind: PolicyKind
    mode: Mode
    decision: Decision
    fell_back: str = ""


class Watcher(Protocol):
    """Who is told of decisions."""

    def decided(self, said: Said, asked: Asked) -> None:
        """One policy has decided about one request."""
        ...


class CountsAndLines:
    """Prometheus' counters and the log."""

    def __init__(
        self, registry: CollectorRegistry, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._decisions = Counter(
            "signalbox_agent_decisions_total",
            "What policies said of requests.",
            ("policy", "kind", "mode", "verdict", "reason"),
            registry=registry,
        )
        self._fallbacks = Counter(
            "signalbox_agent_fallbacks_total",
            "Decisions without shared state, because it was away or there was no time.",
            ("policy", "cause"),
            registry=registry,
        )
        # To find a counter by its labels costs more than to count.
        self._counted: dict[tuple[str, ...], Counter] = {}
        self._monotonic_s = monotonic_s
        self._second = 0
        self._lines = 0

    def decided(self, said: Said, asked: Asked) -> None:
        decision = said.decision
        labels = (said.policy, said.kind, said.mode, decision.verdict, decision.reason)
        counted = self._counted.get(labels)
        if counted is None:
            counted = self._counted[labels] = self._decisions.labels(*labels)
        counted.inc()
        if said.fell_back:
            self._fallbacks.labels(said.policy, said.fell_back).inc()
        if decision.verdict not in SERVED and self._may_write():
            _write(said, asked)

    def _may_write(self) -> bool:
        second = int(self._monotonic_s())
        if second != self._second:
            if self._lines > MOST_LINES:
                log.warning("admission.more_refusals", count=self._lines - MOST_LINES)
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= MOST_LINES


def _write(said: Said, asked: Asked) -> None:
    request = asked.request
    log.info(
        "admission.decided",
        policy=said.policy,
        mode=said.mode.value,
        verdict=said.decision.verdict.value,
        reason=said.decision.reason,
        status=said.decision.status,
        route=asked.route,
        service=asked.service,
        source=request.source,
        method=request.method[:LONGEST_TEXT],
        host=request.host[:LONGEST_TEXT],
        path=request.path[:LONGEST_TEXT],
        fell_back=said.fell_back,
        **{f"why_{name}": value for name, value in said.decision.details.items()},
    )
