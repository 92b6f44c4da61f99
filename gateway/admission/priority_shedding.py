"""The kind `priority_shedding` at work: a threshold of levels, moved after each window.

Where this agent sees the answers, response time counts; beside another proxy it knows only what
came in, and the declared capacity decides.
"""

import asyncio
import contextlib
import math

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.priority_shedding import (
    Load,
    PrioritySheddingPolicy,
    SheddingFacts,
    decide,
    level,
    levels,
    next_threshold,
)
from gateway.admission.enforcing import ADMITTED_RULING, Outcome, Ruling
from gateway.admission.surroundings import Surroundings


class PriorityShedding:
    """One policy; all that it covers is one load."""

    def __init__(self, policy: Policy, surroundings: Surroundings) -> None:
        self._spec: PrioritySheddingPolicy = policy.spec
        self._threshold = math.inf
        self._begin()
        self._moving = asyncio.create_task(self._move())

    async def rule(self, asked: Asked) -> Ruling:
        self._arrivals[level(self._spec, asked)] += 1
        decision = decide(self._spec, asked, SheddingFacts(threshold=self._threshold))
        if decision.verdict is not Verdict.ADMIT:
            return Ruling(decision=decision)
        self._admitted += 1
        return Ruling(decision=decision, ended=self._told)

    def fall_back(self, asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async def close(self) -> None:
        self._moving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._moving

    def _begin(self) -> None:
        self._arrivals = [0] * levels(self._spec)
        self._admitted = self._finished = 0
        self._took_s = 0.0

    def _told(self, outcome: Outcome) -> None:
        if outcome.sent:
            self._finished += 1
            self._took_s += outcome.took_s

    async def _move(self) -> None:
        while True:
            await asyncio.sleep(self._spec.window_s)
            mean_ms = self._took_s * 1_000 / self._finished if self._finished else None
            load = Load(admitted=self._admitted, finished=self._finished, mean_ms=mean_ms)
            self._threshold = next_threshold(self._spec, self._threshold, self._arrivals, load)
            self._begin()
