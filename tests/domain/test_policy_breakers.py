"""Which breakers planes keep for each endpoint."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.policy_breakers import breakers

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
