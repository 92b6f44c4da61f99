"""The kind `protection` at work: judged from the request alone, nothing is remembered or shared.

A body that comes in pieces is not known when the question is asked: where the agent is the proxy,
it carries the limit on (`Ruling.most_body_bytes`) and ends what grows beyond it.
"""

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.protection import ProtectionFacts, ProtectionPolicy, judge_of
from gateway.admission.enforcing import Ruling
from gateway.admission.surroundings import Surroundings

NOTHING_YET = ProtectionFacts()


class Protection:
    """One policy, made ready once."""

    def __init__(self, policy: Policy, _surroundings: Surroundings) -> None:
        spec: ProtectionPolicy = policy.spec
        self._judge = judge_of(spec)
        self._most_body_bytes = spec.most_body_bytes

    async def rule(self, asked: Asked) -> Ruling:
        return self.fall_back(asked)

    def fall_back(self, asked: Asked) -> Ruling:
        decision = self._judge(asked, NOTHING_YET)
        admitted = decision.verdict is Verdict.ADMIT
        return Ruling(
            decision=decision, most_body_bytes=self._most_body_bytes if admitted else None
        )

    async def close(self) -> None:
        """Nothing runs in the background."""
