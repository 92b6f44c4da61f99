"""Which policies in force nobody enforces."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.presets import preset
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.regional_overflow.policy import RegionalOverflowPolicy
from controlplane.domain.findings import Severity
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.policy_agents import unenforced
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import GatewayGroup
from tests import builders

GROUPS = (
    GatewayGroup(name="edge", region="east"),
    GatewayGroup(name="inner", listen_port=10_001, region="west"),
    GatewayGroup(name="other", listen_port=10_002),
)
ROUTES = (
    Route(id="all", service="tickets"),
    Route(id="admin", service="tickets", gateways=("inner",), path=PathMatch(value="/admin")),
)
EDGE = Policy(name="p", protection=ProtectionPolicy())
WHOLE = Attachment(services=("tickets",))
EVERY = ["edge", "inner", "other"]


def content(*policies: Policy, groups: tuple[GatewayGroup, ...] = GROUPS) -> Content:
    fleet = replace(builders.fleet(), gateways=groups, routes=ROUTES if groups else ())
    made = build(fleet, {"tickets": {"beijing-1": 1.0}}).content
    return replace(made, admission=replace(made.admission, policies=policies))


def attached(**lists: tuple[str, ...]) -> Policy:
    return replace(EDGE, attachment=Attachment(**lists))


def test_a_policy_without_any_agent_is_a_warning_and_says_what_to_start() -> None:
    (found,) = unenforced(content(attached(routes=("admin",))), ())
    assert (found.code, found.subject) == ("policy_without_agent", "policy/p")
    assert found.severity is Severity.WARNING
    assert "`signalbox gateway run --group inner`" in found.message


@pytest.mark.parametrize(
    ("policy", "concerned"),
    [
        (EDGE, EVERY),
        (attached(routes=("all",)), EVERY),
        (attached(routes=("admin",)), ["inner"]),
        (attached(routes=("admin",), services=("gone",)), EVERY),
        (attached(services=("tickets",)), EVERY),
        (attached(services=("gone",)), EVERY),
        (attached(regions=("west",)), ["inner", "other"]),
        (preset("waiting_room", "p", Attachment(services=("tickets",))), EVERY),
    ],
)
def test_it_is_said_where_requests_come_in(policy: Policy, concerned: list[str]) -> None:
    (found,) = unenforced(content(policy), ())
    assert f"no agent of gateway group {', '.join(concerned)} takes" in found.message
    assert list(unenforced(content(policy), concerned)) == []


def test_where_others_have_an_agent_it_is_for_information() -> None:
    (found,) = unenforced(content(EDGE), {"edge"})
    assert found.severity is Severity.INFO
    assert "group inner, other takes" in found.message


@pytest.mark.parametrize(
    "policy",
    [
        replace(EDGE, mode=Mode.OBSERVE),
        Policy(name="p", regional_overflow=RegionalOverflowPolicy()),
        Policy(name="p", rate_limit=RateLimitPolicy(), attachment=WHOLE),
        Policy(name="p", rate_limit=RateLimitPolicy(key=("source",)), attachment=WHOLE),
        Policy(name="p", circuit_breaker=CircuitBreakerPolicy(), attachment=WHOLE),
    ],
)
def test_what_needs_no_agent_is_not_said(policy: Policy) -> None:
    assert list(unenforced(content(policy), ())) == []


def test_a_fleet_without_gateways_enforces_nothing() -> None:
    (found,) = unenforced(content(EDGE, groups=()), ())
    assert "any gateway group" in found.message
