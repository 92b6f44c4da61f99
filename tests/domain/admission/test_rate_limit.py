"""What is counted together, and what the bucket's answer means."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.rate_limit import (
    RateFacts,
    RateLimitPolicy,
    burst,
    check_rate_limit,
    client,
    counted,
    decide,
    recovery_s,
    share,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

POLICY = RateLimitPolicy()
ASKED = Asked(
    request=Request(
        path="/order",
        method="POST",
        query="item=7&item=8",
        headers={"cookie": "sid=abc", "x-app": "ios"},
        source="192.0.2.7",
    ),
    now_s=0.0,
    route="orders",
    user="ann",
)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("source", "192.0.2.7"),
        ("user", "ann"),
        ("method", "POST"),
        ("path", "/order"),
        ("route", "orders"),
        ("header:X-App", "ios"),
        ("cookie:sid", "abc"),
        ("query:item", "7"),
        ("query:none", ""),
    ],
)
def test_a_request_is_counted_under_what_the_key_names(part: str, value: str) -> None:
    assert counted(replace(POLICY, key=(part,)), ASKED) == (value,)


def test_without_a_key_all_are_counted_together_and_an_unknown_user_by_his_address() -> None:
    assert counted(POLICY, ASKED) == ()
    assert counted(replace(POLICY, key=("user",)), replace(ASKED, user="")) == ("192.0.2.7",)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("2001:db8:1:2:3::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("unix", "unix"),
        ("unix:", "unix:"),
    ],
)
def test_a_client_of_ipv6_is_his_network(source: str, named: str) -> None:
    assert client(source) == named


def test_the_share_of_a_gateway_is_of_those_who_were_seen_or_declared() -> None:
    policy = replace(POLICY, agents=2, burst=50.0)
    assert share(policy) == (50.0, 25.0)
    assert share(policy, 4) == (25.0, 12.5)
    assert share(policy, 1) == (50.0, 25.0)
    assert share(replace(policy, burst=1.0)) == (50.0, 1.0)


def test_the_usual_burst_is_a_tenth_of_a_second_and_flows_in_in_that_time() -> None:
    assert (burst(POLICY), recovery_s(POLICY)) == (10.0, 0.1)
    assert burst(replace(POLICY, rate_rps=2.0)) == 1.0
    assert burst(replace(POLICY, burst=7.0)) == 7.0


def test_what_has_no_token_is_told_when_it_will() -> None:
    assert decide(POLICY, ASKED, RateFacts()) is ADMITTED
    refused = decide(POLICY, ASKED, RateFacts(taken=False, retry_after_s=0.4))
    assert (refused.verdict, refused.reason, refused.status) == (
        Verdict.REFUSE,
        "rate_limited",
        429,
    )
    assert refused.retry_after_s == 0.4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rate_rps": 0.0}, "rate_rps is 0.0"),
        ({"rate_rps": 1e-300}, "rate_rps is 1e-300: give 1e-06"),
        ({"rate_rps": math.inf}, "rate_rps is inf"),
        ({"burst": 0.5}, "burst is 0.5"),
        ({"agents": 0}, "agents is 0"),
        ({"key": ("user",) * 5}, "key has 5 parts"),
        ({"key": ("address",)}, "key has 'address': give one of source, user"),
        ({"key": ("header:",)}, "key has 'header:'"),
    ],
)
def test_what_cannot_be_carried_out_says_which_limit(values: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=f"rate_limit: {words}"):
        check_rate_limit(replace(POLICY, **values))  # type: ignore[arg-type]


def test_what_can_be_carried_out() -> None:
    check_rate_limit(POLICY)
    check_rate_limit(replace(POLICY, burst=5.0, key=("user", "header:x-app")))
