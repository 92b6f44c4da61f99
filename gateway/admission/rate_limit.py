"""The kind `rate_limit` at work: a bucket for each key, in this agent or in what all share.

While the shared state is away this agent takes its share from buckets of its own, which begin
with one token: whatever was left in the shared ones is gone with them, but one slow answer of a
Redis must not refuse somebody who asks for the first time. For as long as a burst takes to flow
in after it is back, a request needs a token of both.
"""

import time
from collections.abc import Callable

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import (
    Fallback,
    RateFacts,
    RateLimitPolicy,
    Scope,
    burst,
    counted,
    decide,
    recovery_s,
    share,
)
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import ADMITTED_RULING, Ruling
from gateway.admission.surroundings import Surroundings
from gateway.state.keys import key
from gateway.state.memory.buckets import MemoryBuckets
from gateway.state.ports import BucketRule, Taken

WITHOUT_STATE = Ruling(
    decision=Decision(
        verdict=Verdict.REFUSE, reason="shared_state_away", status=503, retry_after_s=1.0
    )
)


class RateLimiting:
    """One limit.

    Args:
        monotonic_s: the clock of this agent's own buckets.
    """

    def __init__(
        self,
        policy: Policy,
        surroundings: Surroundings,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = policy.name
        self._spec: RateLimitPolicy = policy.spec
        self._whole = BucketRule(rate_per_s=self._spec.rate_rps, burst=burst(self._spec))
        rate_per_s, most = share(self._spec)
        self._share = BucketRule(rate_per_s=rate_per_s, burst=most, start=min(1.0, most))
        self._shared = surroundings.state.buckets
        self._monotonic_s = monotonic_s
        self._own = MemoryBuckets(monotonic_s)
        self._away = False
        self._both_until_s = 0.0

    async def rule(self, asked: Asked) -> Ruling:
        named = self._key(asked)
        if self._spec.scope is Scope.LOCAL:
            return self._ruled(asked, self._own.take_now(named, 1.0, self._whole))
        try:
            taken = await self._shared.take(named, 1.0, self._whole)
        except Retryable:
            self._leave()
            raise
        if self._away:
            self._away = False
            self._both_until_s = self._monotonic_s() + recovery_s(self._spec)
        if taken.taken and self._monotonic_s() < self._both_until_s:
            taken = self._own.take_now(named, 1.0, self._share)
        return self._ruled(asked, taken)

    def fall_back(self, asked: Asked) -> Ruling:
        if self._spec.fallback is Fallback.ADMIT:
            return ADMITTED_RULING
        if self._spec.fallback is Fallback.REFUSE:
            return WITHOUT_STATE
        # Not only when it was away: it may as well have been too slow.
        self._leave()
        return self._ruled(asked, self._own.take_now(self._key(asked), 1.0, self._share))

    async def close(self) -> None:
        """Nothing runs in the background."""

    def _leave(self) -> None:
        if self._away or self._monotonic_s() < self._both_until_s:
            self._away = True
            return
        self._away = True
        self._own = MemoryBuckets(self._monotonic_s)

    def _key(self, asked: Asked) -> str:
        return key(self._name, "rate", *counted(self._spec, asked))

    def _ruled(self, asked: Asked, taken: Taken) -> Ruling:
        if taken.taken:
            return ADMITTED_RULING
        facts = RateFacts(taken=False, retry_after_s=taken.retry_after_s)
        return Ruling(decision=decide(self._spec, asked, facts))
