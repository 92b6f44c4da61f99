"""What becomes of a request about which a policy can say nothing: its judgment failed, had no time,
or was never made ready.

Used by `pipeline`. Kinds that lose only their shared state have a word of their own for it.
"""

from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.admission.policy import Policy, PolicyKind
from gateway.admission.enforcing import ADMITTED_RULING, Enforcer, Ruling

# What they say without shared state is a judgment: a share, a pool of their own, a whole check.
JUDGE_ALONE = frozenset(
    {
        PolicyKind.PROTECTION,
        PolicyKind.RATE_LIMIT,
        PolicyKind.SESSION_QUEUE,
        PolicyKind.FLASH_SALE,
    }
)
REFUSED = Ruling(
    decision=Decision(verdict=Verdict.REFUSE, reason="policy_away", status=503, retry_after_s=1.0)
)


def without_judgment(policy: Policy) -> Ruling:
    """What holds where nothing can be said: `when_away` of the policy, or the request goes on."""
    return REFUSED if policy.when_away is WhenAway.REFUSE else ADMITTED_RULING


def without_state(policy: Policy, enforcer: Enforcer, asked: Asked) -> Ruling:
    """What holds without shared state, or without the time to ask it."""
    if policy.when_away is None or policy.kind in JUDGE_ALONE:
        return enforcer.fall_back(asked)
    return without_judgment(policy)


class Unmade:
    """An `Enforcer` for a policy that cannot be enforced here and refuses then."""

    async def rule(self, _asked: Asked) -> Ruling:
        return REFUSED

    def fall_back(self, _asked: Asked) -> Ruling:
        return REFUSED

    async def close(self) -> None:
        """Nothing runs in the background."""
