"""Dry runs: who says what of a request, in order, and what it comes to."""

from dataclasses import MISSING, fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.policy import (
    Attachment,
    Mode,
    Policy,
    PolicyKind,
    check_policy,
)
from controlplane.domain.admission.presets import PRESETS, preset
from controlplane.domain.admission.protection import ProtectionFacts, ProtectionPolicy
from controlplane.domain.admission.trial import Effect, trial
from controlplane.domain.errors import NotFound
from controlplane.domain.routing.matching.request import Request

BLOCKING = Policy(name="b", protection=ProtectionPolicy(blocked_sources=("192.0.2.0/24",)))
USUAL = Policy(name="a", protection=ProtectionPolicy(most_body_bytes=10))
BLOCKED = Asked(request=Request(path="/", source="192.0.2.1"), now_s=0.0, route="r")


def test_the_first_that_does_not_admit_decides() -> None:
    behind = replace(BLOCKING, name="c")
    found = trial([behind, BLOCKING, USUAL], BLOCKED, {})
    assert [(one.policy.name, one.effect) for one in found.said] == [
        ("a", Effect.ADMITS),
        ("b", Effect.DECIDES),
        ("c", Effect.BEHIND),
    ]
    assert (found.decision.policy, found.decision.reason) == ("b", "source_blocked")


def test_what_observes_or_is_off_changes_nothing() -> None:
    modes = [replace(BLOCKING, name=mode, mode=mode) for mode in (Mode.OBSERVE, Mode.OFF)]
    found = trial(modes, BLOCKED, {})
    assert [one.effect for one in found.said] == [Effect.OBSERVES, Effect.OFF]
    assert found.decision == ADMITTED
    assert {one.decision.reason for one in found.said} == {"source_blocked"}


def test_only_what_covers_the_request_is_asked() -> None:
    elsewhere = replace(BLOCKING, attachment=Attachment(routes=("other",)))
    assert trial([elsewhere], BLOCKED, {}).said == ()


def test_a_given_state_takes_the_place_of_a_fresh_one() -> None:
    other = Asked(request=Request(path="/"), now_s=0.0)
    found = trial([USUAL], other, {"a": ProtectionFacts(body_bytes=11)})
    assert found.decision.reason == "body_too_large"
    assert trial([USUAL], other, {}).decision == ADMITTED


def spec_of(kind: PolicyKind) -> Any:
    return get_args(get_type_hints(Policy)[kind])[0]


def has_defaults(kind: PolicyKind) -> bool:
    return all(field.default is not MISSING for field in fields(spec_of(kind)))


@pytest.mark.parametrize("kind", list(filter(has_defaults, PolicyKind)))
def test_every_kind_answers_with_its_defaults_and_nothing_before(kind: PolicyKind) -> None:
    policy = Policy(name="p", **{kind.value: spec_of(kind)()})
    (said,) = trial([policy], BLOCKED, {}).said
    assert said.decision.policy == "p"
    assert said.decision.reason or said.decision.verdict is Verdict.ADMIT


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_makes_a_policy_that_can_be_carried_out(name: str) -> None:
    attachment = Attachment(services=("shop",))
    made = preset(name, "mine", attachment, Mode.OBSERVE)
    check_policy(made)
    assert (made.name, made.attachment, made.mode) == ("mine", attachment, Mode.OBSERVE)
    assert made.spec == PRESETS[name].policy.spec
    assert PRESETS[name].policy.attachment == Attachment()


def test_an_unknown_preset_is_not_found() -> None:
    with pytest.raises(NotFound, match="there is no preset magic"):
        preset("magic", "p")
