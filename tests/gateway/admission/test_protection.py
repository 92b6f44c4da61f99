"""Protection at work: without shared state, before the other kinds, with a limit for bodies."""

from dataclasses import replace

from prometheus_client import CollectorRegistry

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import ADMITTED_RULING, Ruling
from gateway.admission.pipeline import Pipeline
from gateway.admission.registry import MAKERS
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import CountsAndLines
from gateway.state.shared import in_memory

EDGE = Policy(
    name="edge",
    protection=ProtectionPolicy(blocked_sources=("192.0.2.0/24",), most_body_bytes=100),
)
USUAL = Asked(request=Request(path="/", source="198.51.100.1"), now_s=0.0)
BLOCKED = Asked(request=Request(path="/", source="192.0.2.7"), now_s=0.0)


async def ruled(asked: Asked, *policies: Policy) -> Ruling:
    around = Surroundings(state=in_memory(lambda: 0.0), now_s=lambda: 0.0, agent="a", group="edge")
    pipeline = Pipeline(MAKERS, around, CountsAndLines(CollectorRegistry()))
    await pipeline.take(policies)
    try:
        return await pipeline.rule(asked, budget_s=1.0)
    finally:
        await pipeline.close()


async def test_who_is_blocked_is_refused_with_a_reason() -> None:
    ruling = await ruled(BLOCKED, EDGE)
    assert (ruling.decision.verdict, ruling.decision.reason) == (Verdict.REFUSE, "source_blocked")
    assert (ruling.decision.status, ruling.most_body_bytes) == (403, None)


async def test_the_smallest_limit_of_a_body_goes_with_what_is_admitted() -> None:
    larger = replace(EDGE, name="larger", protection=ProtectionPolicy(most_body_bytes=1_000))
    ruling = await ruled(USUAL, larger, EDGE)
    assert (ruling.decision, ruling.most_body_bytes) == (ADMITTED, 100)


async def test_what_observes_limits_nothing() -> None:
    watching = replace(EDGE, mode=Mode.OBSERVE)
    assert await ruled(USUAL, watching) == ADMITTED_RULING
    assert await ruled(BLOCKED, watching) == ADMITTED_RULING


async def test_what_cannot_be_enforced_here_is_named() -> None:
    around = Surroundings(state=in_memory(lambda: 0.0), now_s=lambda: 0.0, agent="a", group="edge")
    pipeline = Pipeline({}, around, CountsAndLines(CollectorRegistry()))
    await pipeline.take([EDGE, replace(EDGE, name="off", mode=Mode.OFF)])
    assert pipeline.not_enforced == {"edge": "this gateway has no protection"}
    broken = Policy(name="old", protection=ProtectionPolicy(blocked_sources=("nowhere",)))
    pipeline = Pipeline(MAKERS, around, CountsAndLines(CollectorRegistry()))
    await pipeline.take([broken, EDGE])
    assert "could not be made ready" in pipeline.not_enforced["old"]
    assert pipeline.policies == (EDGE,)
    await pipeline.take([EDGE])
    assert pipeline.not_enforced == {}
