from controlplane.domain.canonical import decode, encode
from controlplane.domain.decisions import Decision, Trigger, split_of
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.strategies.registry import propose
from tests.domain.two_centers import Load, law_model, situation


def test_a_decision_comes_back_whole_and_explains_itself() -> None:
    facts = situation(load=Load(total_rps=60.0), model=law_model())
    proposal = propose(facts)
    verdict = judge(proposal, facts, GuardState(), EnvelopeLimits())
    newest = (facts.window.latest(center.name) for center in facts.centers)
    decision = Decision(
        id="tickets@1",
        time_s=facts.now_s,
        service="tickets",
        trigger=Trigger.TIMER,
        strategy=proposal.strategy,
        centers=tuple(center.name for center in facts.centers),
        applied=facts.applied,
        proposed=proposal.shares,
        decided=verdict.shares,
        outcome=verdict.outcome,
        curve=proposal.curve,
        notes=(*proposal.notes, *verdict.notes),
        samples=tuple(sample for sample in newest if sample is not None),
        state=verdict.state,
        model="m1",
    )
    back = decode(Decision, encode(decision))
    assert back == decision
    assert len(back.curve) == 61
    split = split_of(back)
    assert (split.time_s, tuple(split.shares.values())) == (back.time_s, back.decided)
    assert [note.code for note in back.notes] == ["residual_missing", "step_limited"]
