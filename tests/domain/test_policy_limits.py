"""Which policies are limits that planes keep by themselves."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.rate_limit import RateLimitPolicy, Scope
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.policy_limits import service_limits, source_limits, stricter
from controlplane.domain.snapshot import ServiceLimit
from tests import builders

LIMIT = Policy(
    name="p",
    attachment=Attachment(services=("tickets",)),
    rate_limit=RateLimitPolicy(rate_rps=50.0),
)


def test_a_local_limit_of_one_service_is_one_of_the_service() -> None:
    tighter = replace(LIMIT, name="q", rate_limit=RateLimitPolicy(rate_rps=20.0, burst=3.0))
    found = service_limits([LIMIT, tighter, replace(LIMIT, name="r")])
    assert found == {"tickets": ServiceLimit(rate_rps=20.0, burst=3.0)}
    snapshot = build(replace(builders.fleet(), policies=(LIMIT,)), {"tickets": {"beijing-1": 1.0}})
    (service,) = snapshot.content.endpoints.services
    assert service.limit == ServiceLimit(rate_rps=50.0, burst=5.0)


@pytest.mark.parametrize(
    "policy",
    [
        replace(LIMIT, mode=Mode.OBSERVE),
        replace(LIMIT, attachment=Attachment()),
        replace(LIMIT, attachment=Attachment(services=("tickets", "video"))),
        replace(LIMIT, attachment=Attachment(services=("tickets",), routes=("r",))),
        replace(LIMIT, attachment=Attachment(services=("tickets",), regions=("r",))),
        replace(LIMIT, rate_limit=RateLimitPolicy(key=("user",))),
        replace(LIMIT, rate_limit=RateLimitPolicy(scope=Scope.GLOBAL)),
        replace(LIMIT, rate_limit=None, protection=ProtectionPolicy()),
    ],
)
def test_anything_else_is_for_agents(policy: Policy) -> None:
    assert service_limits([policy]) == {}


def test_a_limit_of_each_address_is_one_apart() -> None:
    each = replace(LIMIT, name="q", rate_limit=RateLimitPolicy(rate_rps=20.0, key=("source",)))
    assert source_limits([LIMIT, each]) == {"tickets": ServiceLimit(rate_rps=20.0, burst=2.0)}
    assert service_limits([LIMIT, each]) == {"tickets": ServiceLimit(rate_rps=50.0, burst=5.0)}
    both = replace(LIMIT, rate_limit=RateLimitPolicy(key=("source", "path")))
    assert source_limits([both, replace(each, mode=Mode.OBSERVE)]) == {}


def test_of_two_limits_each_number_is_that_of_the_stricter_one() -> None:
    rate, room = ServiceLimit(rate_rps=5.0, burst=2.0), ServiceLimit(concurrent=7, waiting=3)
    both = ServiceLimit(concurrent=7, waiting=3, rate_rps=5.0, burst=2.0)
    assert stricter(None, rate) == rate
    assert stricter(rate, room) == stricter(room, rate) == both
    assert stricter(both, ServiceLimit(concurrent=9, rate_rps=9.0)) == both


LEARNED = AdaptiveConcurrencyPolicy(least_ms=40.0)


def test_a_learned_limit_of_whole_services_is_one_of_each() -> None:
    both = Attachment(services=("tickets", "video"))
    policy = replace(LIMIT, rate_limit=None, attachment=both, adaptive_concurrency=LEARNED)
    found = service_limits([policy, LIMIT])
    assert found["video"] == ServiceLimit(adaptive=LEARNED)
    assert found["tickets"] == ServiceLimit(rate_rps=50.0, burst=5.0, adaptive=LEARNED)
    tighter = replace(policy, adaptive_concurrency=replace(LEARNED, most=50))
    assert service_limits([policy, tighter])["video"].adaptive == replace(LEARNED, most=50)


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": Mode.OBSERVE},
        {"attachment": Attachment()},
        {"attachment": Attachment(services=("tickets",), routes=("r",))},
        {"adaptive_concurrency": AdaptiveConcurrencyPolicy()},
    ],
)
def test_what_is_learned_of_a_part_or_by_probes_is_for_agents(changes: dict[str, object]) -> None:
    policy = replace(LIMIT, rate_limit=None, adaptive_concurrency=LEARNED)
    assert service_limits([replace(policy, **changes)]) == {}
