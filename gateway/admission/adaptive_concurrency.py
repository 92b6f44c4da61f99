"""The kind `adaptive_concurrency` at work: one limit for each service, learned by this agent.

Needs the answers, so it works in the agent's own proxy, and lets on what other proxies ask about:
nobody would tell when those have ended. Envoy has a filter of its own.
"""

import time
from collections.abc import Callable

from controlplane.domain.admission.adaptive_concurrency import (
    AdaptiveConcurrencyPolicy,
    Concurrency,
    ConcurrencyFacts,
    allowed,
    begun,
    decide,
    dropped,
    ended,
    refused,
    start,
)
from controlplane.domain.admission.asking import ADMITTED, Asked
from controlplane.domain.admission.policy import Policy
from gateway.admission.enforcing import ADMITTED_RULING, Outcome, Ruling
from gateway.admission.surroundings import Surroundings


class AdaptiveConcurrency:
    """The limits of one policy.

    Args:
        monotonic_s: the clock of their windows.
    """

    def __init__(
        self,
        policy: Policy,
        surroundings: Surroundings,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec: AdaptiveConcurrencyPolicy = policy.spec
        self._monotonic_s = monotonic_s
        self._known: dict[str, Concurrency] = {}

    async def rule(self, asked: Asked) -> Ruling:
        if not asked.followed:
            return ADMITTED_RULING
        known = self._known.get(asked.service) or start(self._spec)
        facts = ConcurrencyFacts(inflight=known.inflight, allowed=allowed(self._spec, known))
        decision = decide(self._spec, asked, facts)
        if decision is not ADMITTED:
            self._known[asked.service] = refused(known)
            return Ruling(decision=decision)
        self._known[asked.service] = begun(self._spec, known)
        return Ruling(decision=decision, ended=lambda outcome: self._told(asked.service, outcome))

    def fall_back(self, asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async def close(self) -> None:
        """Nothing runs in the background."""

    def _told(self, service: str, outcome: Outcome) -> None:
        known = self._known[service]
        if outcome.sent:
            took_ms = outcome.took_s * 1_000
            self._known[service] = ended(self._spec, known, took_ms, self._monotonic_s())
        else:
            self._known[service] = dropped(known)
