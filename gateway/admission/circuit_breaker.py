"""The kind `circuit_breaker` at work: one breaker for each service, of what this agent saw of it.

Needs the answers, so it works in the agent's own proxy, and lets on what other proxies ask about:
they have breakers of their own.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from controlplane.domain.admission.asking import ADMITTED, Asked
from controlplane.domain.admission.circuit_breaker import (
    CLOSED,
    Breaker,
    BreakerFacts,
    CircuitBreakerPolicy,
    Phase,
    begun,
    decide,
    ended,
    unused,
)
from controlplane.domain.admission.policy import Policy
from gateway.admission.enforcing import ADMITTED_RULING, Outcome, Ruling
from gateway.admission.surroundings import Surroundings


class CircuitBreaking:
    """The breakers of one policy.

    Args:
        monotonic_s: their clock: a step of the other one must neither end nor prolong a rest.
    """

    def __init__(
        self,
        policy: Policy,
        surroundings: Surroundings,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec: CircuitBreakerPolicy = policy.spec
        self._monotonic_s = monotonic_s
        self._breakers: dict[str, Breaker] = {}

    async def rule(self, asked: Asked) -> Ruling:
        if not asked.followed:
            return ADMITTED_RULING
        now_s = self._monotonic_s()
        breaker = self._breakers.get(asked.service, CLOSED)
        facts = BreakerFacts(breaker=breaker)
        decision = decide(self._spec, replace(asked, now_s=now_s), facts)
        if decision is not ADMITTED:
            return Ruling(decision=decision)
        probe = breaker.phase is not Phase.CLOSED
        self._breakers[asked.service] = begun(breaker, now_s)

        def told(outcome: Outcome) -> None:
            self._told(asked.service, outcome, probe=probe)

        return Ruling(decision=decision, ended=told)

    def fall_back(self, asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async def close(self) -> None:
        """Nothing runs in the background."""

    def _told(self, service: str, outcome: Outcome, *, probe: bool) -> None:
        breaker = self._breakers.get(service, CLOSED)
        now_s = self._monotonic_s()
        if outcome.sent:
            answer = (outcome.status, outcome.took_s * 1_000)
            self._breakers[service] = ended(self._spec, breaker, answer, now_s)
        elif probe:
            # Another policy stopped it: the next one is the probe.
            self._breakers[service] = unused(self._spec, breaker)
