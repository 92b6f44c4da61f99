"""Which breakers planes keep for each endpoint."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.findings import Severity
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.policy_breakers import breakers, kept_in_part, unkept
from controlplane.domain.services import AllDown
from controlplane.domain.snapshot import Content
from tests import builders

USUAL = CircuitBreakerPolicy()
POLICY = Policy(
    name="rest", attachment=Attachment(services=("tickets", "video")), circuit_breaker=USUAL
)


def test_each_named_service_has_the_breaker_that_opens_first() -> None:
    assert breakers([POLICY]) == {"tickets": USUAL, "video": USUAL}
    eager = replace(USUAL, error_ratio=0.2)
    other = replace(POLICY, attachment=Attachment(services=("video",)), circuit_breaker=eager)
    expected = {"tickets": USUAL, "video": eager}
    assert breakers([POLICY, other]) == breakers([other, POLICY]) == expected


@pytest.mark.parametrize(
    "policy",
    [
        replace(POLICY, mode=Mode.OBSERVE),
        replace(POLICY, attachment=Attachment()),
        replace(POLICY, attachment=Attachment(services=("tickets",), routes=("r",))),
        replace(POLICY, attachment=Attachment(services=("tickets",), regions=("r",))),
        replace(POLICY, circuit_breaker=CircuitBreakerPolicy(statuses=(503,))),
        replace(POLICY, circuit_breaker=None, rate_limit=RateLimitPolicy()),
    ],
)
def test_anything_else_is_for_agents(policy: Policy) -> None:
    assert breakers([policy]) == {}


def content(all_down: AllDown, *policies: Policy) -> Content:
    fleet = builders.fleet()
    services = tuple(replace(one, all_down=all_down) for one in fleet.services)
    declared = replace(fleet, services=services, policies=policies)
    return build(declared, {"tickets": {"beijing-1": 1.0}}).content


def test_planes_without_breakers_tell_of_each() -> None:
    assert list(unkept(content(AllDown.HOLD), "nginx")) == []
    (note,) = unkept(content(AllDown.CLOSED, POLICY), "nginx")
    assert (note.code, note.subject) == ("breaker_not_expressible", "service/tickets")
    assert (note.severity, "nginx" in note.message) == (Severity.WARNING, True)


def test_a_plane_that_rests_endpoints_tells_what_it_leaves_undone() -> None:
    assert list(kept_in_part(content(AllDown.CLOSED, POLICY), "Envoy")) == []
    (note,) = kept_in_part(content(AllDown.HOLD, POLICY), "Envoy")
    assert (note.severity, "all_down" in note.message) == (Severity.INFO, True)
    slow = replace(POLICY, circuit_breaker=replace(USUAL, slow_ms=300.0))
    (note,) = kept_in_part(content(AllDown.CLOSED, slow), "Envoy")
    assert "slow" in note.message
    assert "all_down" not in note.message
