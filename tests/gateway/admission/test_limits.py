"""The kinds that bound what an upstream gets, at work in one agent, with clocks of the test."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controlplane.domain.admission.abnormal_traffic.policy import (
    AbnormalTrafficPolicy,
    RiskLevel,
    ScoreRule,
    Signal,
)
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.priority_shedding import PriorityClass, PrioritySheddingPolicy
from controlplane.domain.admission.rate_limit import Fallback, RateLimitPolicy, Scope
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.admission import abnormal_traffic
from gateway.admission.abnormal_traffic import AbnormalTraffic
from gateway.admission.adaptive_concurrency import AdaptiveConcurrency
from gateway.admission.circuit_breaker import CircuitBreaking
from gateway.admission.enforcing import Enforcer, Outcome
from gateway.admission.priority_shedding import PriorityShedding
from gateway.admission.rate_limit import RateLimiting
from gateway.admission.surroundings import Surroundings
from gateway.state.memory.buckets import MemoryBuckets
from gateway.state.ports import BucketRule, Taken
from gateway.state.shared import in_memory

SERVED, FAILED, LOST = (Outcome(status=status, took_s=0.01) for status in (200, 503, 0))
NOT_SENT = Outcome(status=0, took_s=0.0, sent=False)


@dataclass(slots=True)
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Fickle:
    """Buckets that several agents share, and that may be away."""

    clock: Clock
    away: bool = False
    buckets: MemoryBuckets = field(init=False)

    def __post_init__(self) -> None:
        self.buckets = MemoryBuckets(self.clock)

    async def take(self, key: str, amount: float, rule: BucketRule) -> Taken:
        if self.away:
            raise Retryable("shared_state_away", "away")
        return await self.buckets.take(key, amount, rule)


def surroundings(clock: Clock, buckets: Fickle | None = None) -> Surroundings:
    state = in_memory(clock)
    if buckets is not None:
        state = replace(state, buckets=buckets)
    return Surroundings(state=state, now_s=clock, agent="one", group="edge")


def asked(clock: Clock, route: str = "order", user: str = "ann", **values: Any) -> Asked:
    request = Request(path="/order", source="192.0.2.7")
    return Asked(request=request, now_s=clock(), service="shop", route=route, user=user, **values)


ALONE = surroundings(Clock())


async def verdict(one: Enforcer, request: Asked) -> Verdict:
    return (await one.rule(request)).decision.verdict


def limiting(clock: Clock, buckets: Fickle | None = None, **values: Any) -> RateLimiting:
    policy = Policy(name="limit", rate_limit=RateLimitPolicy(**values))
    return RateLimiting(policy, surroundings(clock, buckets), clock)


async def admitted(agents: list[RateLimiting], clock: Clock, seconds: float) -> int:
    """Requests of 1,000 a second, dealt to agents in turn, that are admitted."""
    count = 0
    for number in range(round(seconds * 1_000)):
        clock.now += 0.001
        agent, request = agents[number % len(agents)], asked(clock)
        try:
            ruling = await agent.rule(request)
        except Retryable:
            ruling = agent.fall_back(request)
        count += ruling.decision.verdict is Verdict.ADMIT
    return count


async def test_a_local_limit_counts_each_key_apart_in_each_agent() -> None:
    clock = Clock()
    one = limiting(clock, rate_rps=1.0, burst=2.0, key=("user",))
    other = limiting(clock, rate_rps=1.0, burst=2.0, key=("user",))
    said = [await verdict(one, asked(clock)) for _ in range(3)]
    assert said == [Verdict.ADMIT, Verdict.ADMIT, Verdict.REFUSE]
    assert await verdict(one, asked(clock, user="bob")) is Verdict.ADMIT
    assert await verdict(other, asked(clock)) is Verdict.ADMIT
    await one.close()


async def test_a_global_limit_holds_over_two_agents_through_an_outage_and_behind_it() -> None:
    clock = Clock()
    shared = Fickle(clock)
    rule = {"rate_rps": 100.0, "scope": Scope.GLOBAL, "agents": 2}
    agents = [limiting(clock, shared, **rule) for _ in range(2)]
    assert await admitted(agents, clock, 10.0) == pytest.approx(1_000, rel=0.05)
    shared.away = True
    assert await admitted(agents, clock, 10.0) == pytest.approx(1_000, rel=0.05)
    # One agent alone has its share, not what the other does not use.
    assert await admitted(agents[:1], clock, 10.0) == pytest.approx(500, rel=0.05)
    shared.away = False
    behind = [await admitted(agents, clock, 0.1) for _ in range(10)]
    assert max(behind) <= 20
    assert sum(behind) == pytest.approx(100, rel=0.15)


async def test_an_outage_that_comes_again_at_once_gives_no_second_share() -> None:
    clock = Clock()
    shared = Fickle(clock)
    one = limiting(clock, shared, rate_rps=100.0, scope=Scope.GLOBAL, agents=2)
    count = 0
    for number in range(100):
        shared.away = number % 2 == 0
        count += await admitted([one], clock, 0.01)
    # A second of its share, and what the shared bucket held at the start.
    assert count <= 75


@pytest.mark.parametrize(
    ("fallback", "said"), [(Fallback.ADMIT, Verdict.ADMIT), (Fallback.REFUSE, Verdict.REFUSE)]
)
def test_without_shared_state_a_limit_does_what_is_declared(
    fallback: Fallback, said: Verdict
) -> None:
    clock = Clock()
    one = limiting(clock, scope=Scope.GLOBAL, fallback=fallback)
    assert one.fall_back(asked(clock)).decision.verdict is said


def breaking(clock: Clock) -> CircuitBreaking:
    policy = Policy(name="b", circuit_breaker=CircuitBreakerPolicy(requests=10))
    return CircuitBreaking(policy, surroundings(clock), clock)


async def tell(one: Enforcer, request: Asked, outcome: Outcome) -> None:
    ended = (await one.rule(request)).ended
    assert ended is not None
    ended(outcome)


async def test_a_service_that_fails_rests_and_comes_back_by_one_probe() -> None:
    clock = Clock()
    one = breaking(clock)
    for outcome in [FAILED, LOST] * 5:
        await tell(one, asked(clock), outcome)
    assert await verdict(one, asked(clock)) is Verdict.REFUSE
    assert await verdict(one, replace(asked(clock), service="other")) is Verdict.ADMIT
    clock.now += 5.0
    probe = await one.rule(asked(clock))
    assert await verdict(one, asked(clock)) is Verdict.REFUSE
    assert probe.ended is not None
    # Another policy stopped it: the next one is the probe.
    probe.ended(NOT_SENT)
    clock.now += 0.1
    again = await one.rule(asked(clock))
    assert again.ended is not None
    clock.now += 0.1
    again.ended(SERVED)
    assert await verdict(one, asked(clock)) is Verdict.ADMIT
    assert one.fall_back(asked(clock)).decision.verdict is Verdict.ADMIT
    await one.close()


async def test_what_was_never_sent_says_nothing_of_the_service() -> None:
    clock = Clock()
    one = breaking(clock)
    for _ in range(20):
        await tell(one, asked(clock), NOT_SENT)
    assert await verdict(one, asked(clock)) is Verdict.ADMIT


async def test_only_so_many_are_at_a_service_at_once() -> None:
    clock = Clock()
    spec = AdaptiveConcurrencyPolicy(initial=3, most=3)
    policy = Policy(name="c", adaptive_concurrency=spec)
    one = AdaptiveConcurrency(policy, surroundings(clock), clock)
    rulings = [await one.rule(asked(clock)) for _ in range(4)]
    said = [each.decision.verdict for each in rulings]
    assert said == [Verdict.ADMIT] * 3 + [Verdict.REFUSE]
    for ruling, outcome in zip(rulings[:2], (SERVED, NOT_SENT), strict=True):
        assert ruling.ended is not None
        ruling.ended(outcome)
    assert [await verdict(one, asked(clock)) for _ in range(3)].count(Verdict.ADMIT) == 2
    assert one.fall_back(asked(clock)).decision.verdict is Verdict.ADMIT
    await one.close()


async def test_at_twice_the_capacity_the_first_class_is_served_and_the_rest_is_shed() -> None:
    clock = Clock()
    spec = PrioritySheddingPolicy(
        classes=(PriorityClass(name="gates", routes=("gate",)),),
        capacity_rps=1_000.0,
        target_ms=1_000.0,
        window_s=0.1,
    )
    one = PriorityShedding(Policy(name="p", priority_shedding=spec), surroundings(clock))
    users = [f"user-{number}" for number in range(160)]
    for _ in range(2):
        for user in users:
            for route in ("gate", "shop") if user < "user-14" else ("shop",):
                ruling = await one.rule(asked(clock, route=route, user=user))
                if ruling.ended is not None:
                    ruling.ended(SERVED)
        await asyncio.sleep(0.12)
    shed = {
        user for user in users if await verdict(one, asked(clock, "shop", user)) is Verdict.REFUSE
    }
    assert 0.2 * len(users) < len(shed) < 0.9 * len(users)
    assert all([await verdict(one, asked(clock, "gate", user)) is Verdict.ADMIT for user in users])
    assert one.fall_back(asked(clock)).decision.verdict is Verdict.ADMIT
    one._told(NOT_SENT)
    await one.close()


async def test_a_bot_is_diverted_and_its_level_travels_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    spec = AbnormalTrafficPolicy(
        rules=(
            ScoreRule(name="fast", score=40, signal=Signal.RATE_RPS, at_least=5.0, requests=10),
            ScoreRule(name="guess", score=50, signal=Signal.FAILED_LOGINS, at_least=3.0),
        ),
        levels=(RiskLevel(at_least=40, service="slow"),),
        login_routes=("login",),
    )
    one = AbnormalTraffic(Policy(name="a", abnormal_traffic=spec), surroundings(clock))
    rulings = [await one.rule(asked(clock)) for _ in range(20)]
    assert rulings[0].request_headers == (("x-risk-level", "0"),)
    assert rulings[-1].request_headers == (("x-risk-level", "1"),)
    assert (rulings[-1].decision.verdict, rulings[-1].decision.service) == (
        Verdict.DIVERT,
        "slow",
    )
    for _ in range(3):
        await tell(one, asked(clock, "login", "bob"), Outcome(status=401, took_s=0.1))
    assert await verdict(one, asked(clock, user="bob")) is Verdict.DIVERT
    # The one who was quiet for longest makes room.
    monkeypatch.setattr(abnormal_traffic, "MOST_CLIENTS", 2)
    late = await one.rule(asked(clock, "login", "cyd"))
    await one.rule(asked(clock, user="dan"))
    await one.rule(asked(clock, user="eve"))
    assert late.ended is not None
    late.ended(FAILED)
    assert one.fall_back(asked(clock)).decision.verdict is Verdict.ADMIT
    await one.close()


@pytest.mark.parametrize(
    "one",
    [
        CircuitBreaking(Policy(name="b", circuit_breaker=CircuitBreakerPolicy()), ALONE),
        AdaptiveConcurrency(
            Policy(name="c", adaptive_concurrency=AdaptiveConcurrencyPolicy(initial=3, most=3)),
            ALONE,
        ),
    ],
)
async def test_what_needs_answers_lets_on_what_nobody_follows(one: Enforcer) -> None:
    unfollowed = replace(asked(Clock()), followed=False)
    rulings = [await one.rule(unfollowed) for _ in range(10)]
    assert {each.decision.verdict for each in rulings} == {Verdict.ADMIT}
    assert {each.ended for each in rulings} == {None}
