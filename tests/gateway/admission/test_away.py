"""Each policy says what becomes of its requests while nobody can judge them."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.policy import Mode, Policy, PolicyKind
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Ruling
from gateway.admission.pipeline import Pipeline
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import Said
from gateway.state.shared import in_memory

ASKED = Asked(request=Request(path="/pay"), now_s=0.0, route="pay", service="shop")
AROUND = Surroundings(state=in_memory(lambda: 0.0), now_s=lambda: 0.0, agent="one", group="edge")
BOTS = Policy(name="bots", abnormal_traffic=AbnormalTrafficPolicy())
LIMIT = Policy(name="limit", rate_limit=RateLimitPolicy())


class Failing:
    """An enforcer whose judgment fails; without shared state it admits."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    async def rule(self, _asked: Asked) -> Ruling:
        raise self._fault

    def fall_back(self, _asked: Asked) -> Ruling:
        return Ruling(decision=ADMITTED)

    async def close(self) -> None:
        return


class Told:
    def __init__(self) -> None:
        self.said: list[Said] = []

    def decided(self, said: Said, asked: Asked) -> None:
        self.said.append(said)


async def verdict(policy: Policy, fault: Exception) -> tuple[Verdict, int, str]:
    told = Told()
    pipeline = Pipeline({policy.kind: lambda _policy, _around: Failing(fault)}, AROUND, told)
    await pipeline.take([policy])
    decision = (await pipeline.rule(ASKED)).decision
    assert decision.policy == ("" if decision.verdict is Verdict.ADMIT else policy.name)
    return decision.verdict, decision.status, told.said[0].fell_back


@pytest.mark.parametrize("fault", [ZeroDivisionError(), Retryable("shared_state_away", "away")])
@pytest.mark.parametrize(
    ("when_away", "expected", "status"),
    [
        (None, Verdict.ADMIT, 0),
        (WhenAway.ADMIT, Verdict.ADMIT, 0),
        (WhenAway.REFUSE, Verdict.REFUSE, 503),
    ],
)
async def test_a_judgment_that_fails_is_what_the_policy_says(
    fault: Exception, when_away: WhenAway | None, expected: Verdict, status: int
) -> None:
    found = await verdict(replace(BOTS, when_away=when_away), fault)
    assert found[:2] == (expected, status)
    assert found[2] in ("fault", "shared_state_away")


async def test_a_kind_that_judges_without_shared_state_goes_on_judging() -> None:
    strict = replace(LIMIT, when_away=WhenAway.REFUSE)
    away = Retryable("shared_state_away", "away")
    assert (await verdict(strict, away))[0] is Verdict.ADMIT
    assert (await verdict(strict, ZeroDivisionError()))[0] is Verdict.REFUSE


async def test_a_policy_that_only_observes_refuses_nobody() -> None:
    watching = replace(BOTS, mode=Mode.OBSERVE, when_away=WhenAway.REFUSE)
    assert (await verdict(watching, ZeroDivisionError()))[0] is Verdict.ADMIT


async def test_a_policy_that_cannot_be_made_refuses_where_it_says_so_until_it_can() -> None:
    broken = [True]

    def make(_policy: Policy, _around: Surroundings) -> Failing:
        if broken[0]:
            raise ValueError("no room")
        return Failing(Retryable("shared_state_away", "away"))

    strict = replace(LIMIT, when_away=WhenAway.REFUSE)
    pipeline = Pipeline({PolicyKind.RATE_LIMIT: make}, AROUND, Told())
    # Of a kind that this agent does not know, and one that cannot be made ready.
    for policies in ([replace(BOTS, when_away=WhenAway.REFUSE)], [strict]):
        await pipeline.take(policies)
        assert (await pipeline.rule(ASKED)).decision.reason == "policy_away"
        assert list(pipeline.not_enforced) == [policies[0].name]
    broken[0] = False
    await pipeline.take([strict])
    assert (await pipeline.rule(ASKED)).decision == ADMITTED
    assert pipeline.not_enforced == {}
    await pipeline.close()
