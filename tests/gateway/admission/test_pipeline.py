"""Which policies are asked, in which order, and what their words become together."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.policy import Attachment, Mode, Policy, PolicyKind
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.regional_overflow.policy import RegionalOverflowPolicy
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Outcome, Ruling
from gateway.admission.pipeline import Pipeline
from gateway.admission.registry import MAKERS
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import Said
from gateway.state.shared import in_memory

OVERFLOW = RegionalOverflowPolicy()
ASKED = Asked(request=Request(path="/seats"), now_s=0.0, route="seats", service="tickets")
REFUSED = Ruling(
    decision=Decision(verdict=Verdict.REFUSE, reason="too_many", policy="x", status=429)
)
SURROUNDINGS = Surroundings(
    state=in_memory(lambda: 0.0), now_s=lambda: 0.0, agent="one", group="edge"
)


@dataclass(slots=True)
class Scripted:
    """An enforcer that says what a test wants, and remembers that it was asked."""

    name: str
    ruling: Ruling
    asked: list[str]
    closed: list[str]
    fault: Exception | None = None
    waits_s: float = 0.0
    without_state: Ruling = field(default=REFUSED)

    async def rule(self, asked: Asked) -> Ruling:
        self.asked.append(self.name)
        if self.waits_s:
            await asyncio.sleep(self.waits_s)
        if self.fault is not None:
            raise self.fault
        return self.ruling

    def fall_back(self, asked: Asked) -> Ruling:
        return self.without_state

    async def close(self) -> None:
        self.closed.append(self.name)


@dataclass(slots=True)
class Rig:
    scripts: dict[str, Callable[[Scripted], Scripted]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    pipeline: Pipeline = field(init=False)

    def __post_init__(self) -> None:
        self.pipeline = Pipeline({PolicyKind.PROTECTION: self._make}, SURROUNDINGS, self)

    def decided(self, said: Said, asked: Asked) -> None:
        self.said.append(said)

    async def with_policies(
        self, policies: Sequence[Policy], **scripts: Callable[[Scripted], Scripted]
    ) -> Pipeline:
        self.scripts = scripts
        await self.pipeline.take(policies)
        return self.pipeline

    def _make(self, policy: Policy, surroundings: Surroundings) -> Scripted:
        self.made.append(policy.name)
        made = Scripted(policy.name, Ruling(decision=ADMITTED), self.asked, self.closed)
        return self.scripts.get(policy.name, lambda same: same)(made)


def policy(name: str, mode: Mode = Mode.ENFORCE, **attached: tuple[str, ...]) -> Policy:
    return Policy(
        name=name, mode=mode, attachment=Attachment(**attached), protection=ProtectionPolicy()
    )


def says(ruling: Ruling) -> Callable[[Scripted], Scripted]:
    return lambda made: replace(made, ruling=ruling)


def fails(fault: Exception, without_state: Ruling = REFUSED) -> Callable[[Scripted], Scripted]:
    return lambda made: replace(made, fault=fault, without_state=without_state)


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_only_what_covers_a_request_is_asked(rig: Rig) -> None:
    pipeline = await rig.with_policies(
        [
            policy("b"),
            policy("a", routes=("seats",)),
            policy("c", services=("other",)),
            policy("d", Mode.OFF),
        ]
    )
    assert (await pipeline.rule(ASKED)).decision == ADMITTED
    assert rig.asked == ["a", "b"]
    assert [one.name for one in pipeline.policies] == ["a", "b", "c"]


async def test_the_first_that_does_not_admit_wins(rig: Rig) -> None:
    pipeline = await rig.with_policies([policy("a"), policy("b"), policy("c")], b=says(REFUSED))
    assert (await pipeline.rule(ASKED)).decision == REFUSED.decision
    assert rig.asked == ["a", "b"]


async def test_a_policy_that_observes_is_counted_and_changes_nothing(rig: Rig) -> None:
    ruling = replace(REFUSED, response_headers=(("set-cookie", "x=1"),))
    pipeline = await rig.with_policies([policy("a", Mode.OBSERVE), policy("b")], a=says(ruling))
    found = await pipeline.rule(ASKED)
    assert found.decision == ADMITTED
    assert found.response_headers == ()
    assert [(one.policy, one.decision.verdict) for one in rig.said] == [
        ("a", Verdict.REFUSE),
        ("b", Verdict.ADMIT),
    ]


async def test_headers_are_joined_and_refusals_keep_those_of_the_client(rig: Rig) -> None:
    admitting = Ruling(
        decision=ADMITTED,
        request_headers=(("x-class", "gold"),),
        response_headers=(("x-limit", "10"),),
    )
    pipeline = await rig.with_policies([policy("a"), policy("b")], a=says(admitting))
    found = await pipeline.rule(ASKED)
    assert found.request_headers == (("x-class", "gold"),)
    assert found.response_headers == (("x-limit", "10"),)
    refused = replace(REFUSED, response_headers=(("x-b", "1"),))
    pipeline = await rig.with_policies(
        [policy("c"), policy("d")], c=says(admitting), d=says(refused)
    )
    assert (await pipeline.rule(ASKED)).response_headers == (("x-limit", "10"), ("x-b", "1"))


async def test_everybody_who_admitted_is_told_how_it_ended(rig: Rig) -> None:
    told: list[tuple[str, Outcome]] = []

    def ends(name: str) -> Callable[[Scripted], Scripted]:
        return says(Ruling(decision=ADMITTED, ended=lambda outcome: told.append((name, outcome))))

    pipeline = await rig.with_policies(
        [policy("a"), policy("b", Mode.OBSERVE)], a=ends("a"), b=ends("b")
    )
    ended = (await pipeline.rule(ASKED)).ended
    assert ended is not None
    ended(Outcome(status=200, took_s=1.0))
    assert told == [(name, Outcome(status=200, took_s=1.0)) for name in ("a", "b")]
    told.clear()
    pipeline = await rig.with_policies([policy("c"), policy("d")], c=ends("c"), d=says(REFUSED))
    await pipeline.rule(ASKED)
    assert told == [("c", Outcome(status=0, took_s=0.0, sent=False))]


async def test_a_client_that_goes_away_frees_what_was_admitted(rig: Rig) -> None:
    told: list[Outcome] = []
    pipeline = await rig.with_policies(
        [policy("a"), policy("b")],
        a=says(Ruling(decision=ADMITTED, ended=told.append)),
        b=lambda made: replace(made, waits_s=60.0),
    )
    asking = asyncio.create_task(pipeline.rule(ASKED))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [one.sent for one in told] == [False]


async def test_without_shared_state_a_policy_falls_back(rig: Rig) -> None:
    away = Retryable("shared_state_away", "away")
    pipeline = await rig.with_policies(
        [policy("a"), policy("b")], a=fails(away, Ruling(decision=ADMITTED)), b=fails(away)
    )
    assert (await pipeline.rule(ASKED)).decision == REFUSED.decision
    assert [one.fell_back for one in rig.said] == ["shared_state_away"] * 2


async def test_when_time_is_up_those_who_wait_fall_back_and_the_others_decide(rig: Rig) -> None:
    slow: Callable[[Scripted], Scripted] = lambda made: replace(  # noqa: E731
        made, waits_s=60.0, without_state=Ruling(decision=ADMITTED)
    )
    pipeline = await rig.with_policies(
        [policy("a"), policy("b"), policy("c")], a=slow, b=slow, c=says(REFUSED)
    )
    async with asyncio.timeout(5):
        found = await pipeline.rule(ASKED, budget_s=0.02)
    assert found.decision == REFUSED.decision
    assert [one.fell_back for one in rig.said] == ["out_of_time", "out_of_time", ""]


async def test_a_fault_costs_a_policy_its_say_and_not_the_request(rig: Rig) -> None:
    pipeline = await rig.with_policies(
        [policy("a"), policy("b")], a=fails(ZeroDivisionError()), b=says(REFUSED)
    )
    assert (await pipeline.rule(ASKED)).decision == REFUSED.decision
    assert rig.said[0].fell_back == "fault"


async def test_only_a_policy_that_has_changed_is_made_anew(rig: Rig) -> None:
    await rig.with_policies([policy("a"), policy("b"), policy("c")])
    await rig.with_policies([policy("a"), policy("b", routes=("seats",))])
    assert rig.made == ["a", "b", "c", "b"]
    assert sorted(rig.closed) == ["b", "c"]
    await rig.pipeline.close()
    assert sorted(rig.closed) == ["a", "b", "b", "c"]
    assert rig.pipeline.policies == ()


async def test_a_policy_that_cannot_be_made_is_left_out(rig: Rig) -> None:
    def refuse(made: Scripted) -> Scripted:
        raise ValueError(made.name)

    pipeline = await rig.with_policies([policy("a"), policy("b")], a=refuse)
    assert [one.name for one in pipeline.policies] == ["b"]


async def test_a_kind_that_this_agent_does_not_know_lets_through() -> None:
    pipeline = Pipeline({}, SURROUNDINGS, Rig())
    await pipeline.take([policy("a")])
    assert (await pipeline.rule(ASKED)).decision == ADMITTED


async def test_a_kind_that_another_program_enforces_is_no_fault_of_this_one() -> None:
    rig = Rig()
    pipeline = await rig.with_policies([Policy(name="home", regional_overflow=OVERFLOW)])
    assert (pipeline.policies, pipeline.not_enforced) == ((), {})


async def test_who_did_not_admit_is_named(rig: Rig) -> None:
    nameless = Ruling(decision=replace(REFUSED.decision, policy=""))
    pipeline = await rig.with_policies([policy("edge")], edge=says(nameless))
    assert (await pipeline.rule(ASKED)).decision.policy == "edge"


async def test_headers_of_policies_that_only_observe_are_their_clients_own() -> None:
    pipeline = Pipeline(MAKERS, SURROUNDINGS, Rig())
    bots = Policy(name="bots", abnormal_traffic=AbnormalTrafficPolicy(header="X-Risk"))
    await pipeline.take([bots])
    assert pipeline.told == {"x-risk"}
    await pipeline.take([replace(bots, mode=Mode.OBSERVE)])
    assert pipeline.told == frozenset()
    await pipeline.close()


async def test_what_covers_a_route_is_looked_up_once_until_policies_change(rig: Rig) -> None:
    attached = [policy(f"p{number}", routes=(f"r{number}",)) for number in range(1_000)]
    pipeline = await rig.with_policies([*attached, policy("seats", routes=("seats",))])
    for route in ("seats", "r7", "seats"):
        await pipeline.rule(replace(ASKED, route=route))
    assert rig.asked == ["seats", "p7", "seats"]
    await pipeline.take([policy("z")])
    await pipeline.rule(ASKED)
    assert rig.asked[-1] == "z"
