"""What protection refuses, with reason, status and numbers."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.protection import (
    MOST_ITEMS,
    ProtectionFacts,
    ProtectionPolicy,
    check_protection,
    decide,
    judge_of,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import FunctionCall, PathMatch, PathMatchType

BOTS = FunctionCall(name="user_agent_family", arguments=(("family", "bot"),))
POLICY = ProtectionPolicy(
    blocked_sources=("192.0.2.0/24", "2001:db8::/32"),
    blocked_paths=(
        PathMatch(value="/.git"),
        PathMatch(type=PathMatchType.EXACT, value="/admin"),
        PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/users/{id}/debug"),
        PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value=r"/.*\.php"),
    ),
    blocked_when=(BOTS,),
    most_body_bytes=1000,
    most_headers=3,
    most_header_bytes=200,
    most_url_bytes=40,
)


def asked(path: str = "/seats", **values: object) -> Asked:
    return Asked(request=replace(Request(path=path), **values), now_s=0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_of", "reason", "status"),
    [
        (asked(method="TRACE"), "method_blocked", 405),
        (asked(path="/" + "a" * 40), "url_too_long", 414),
        (asked(query="q" * 35), "url_too_long", 414),
        (asked(headers=dict.fromkeys("abcd", "")), "too_many_headers", 431),
        (asked(headers={"cookie": "c" * 195}), "headers_too_large", 431),
        (asked(headers={"content-encoding": "gzip, lzma"}), "encoding_not_allowed", 415),
        (asked(source="192.0.2.7"), "source_blocked", 403),
        (asked(source="::ffff:192.0.2.7"), "source_blocked", 403),
        (asked(source="2001:db8::1"), "source_blocked", 403),
        (asked("/.git"), "path_blocked", 403),
        (asked("/.git/config"), "path_blocked", 403),
        (asked("/admin"), "path_blocked", 403),
        (asked("/users/7/debug"), "path_blocked", 403),
        (asked("/old/index.php"), "path_blocked", 403),
        (asked(headers={"user-agent": "curl/8"}), "rule_matched", 403),
        (asked(headers={"content-length": "1001"}), "body_too_large", 413),
        (asked(headers={"content-length": "9" * 50}), "body_too_large", 413),
        (asked(headers={"content-length": "+7"}), "length_unreadable", 400),
        (asked(headers={"content-length": "7,7"}), "length_unreadable", 400),
        (
            asked(headers={"content-length": "7", "transfer-encoding": "chunked"}),
            "length_twice",
            400,
        ),
    ],
)
def test_each_limit_has_its_reason_and_status(request_of: Asked, reason: str, status: int) -> None:
    decision = decide(POLICY, request_of, ProtectionFacts())
    assert (decision.verdict, decision.reason, decision.status) == (Verdict.REFUSE, reason, status)


@pytest.mark.parametrize(
    "request_of",
    [
        asked(),
        asked(query="q" * 33),
        asked("/.github"),
        asked("/admin/x"),
        asked("/users/debug"),
        asked(source="198.51.100.1"),
        asked(source="unknown"),
        asked(headers={"content-encoding": "GZIP, identity"}),
        asked(headers={"content-length": "1000"}),
        asked(headers={"transfer-encoding": "chunked"}),
    ],
)
def test_the_rest_goes_on(request_of: Asked) -> None:
    assert decide(POLICY, request_of, ProtectionFacts()) == ADMITTED


def test_a_body_is_refused_as_soon_as_too_much_came() -> None:
    judge = judge_of(POLICY)
    chunked = asked(headers={"transfer-encoding": "chunked"})
    assert judge(chunked, ProtectionFacts(body_bytes=1000)) == ADMITTED
    decision = judge(chunked, ProtectionFacts(body_bytes=1001))
    assert decision.details == {"bytes": 1001, "limit": 1000}


def test_nothing_is_blocked_with_empty_lists() -> None:
    open_policy = ProtectionPolicy(blocked_methods=(), encodings=())
    assert decide(open_policy, asked(method="TRACE"), ProtectionFacts()) == ADMITTED
    coded = asked(headers={"content-encoding": "gzip"})
    assert decide(open_policy, coded, ProtectionFacts()).reason == "encoding_not_allowed"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (replace(POLICY, most_headers=0), "most_headers is 0: give 1..10000"),
        (replace(POLICY, most_body_bytes=(1 << 40) + 1), "most_body_bytes"),
        (replace(POLICY, encodings=("gzip",) * (MOST_ITEMS + 1)), "encodings has 10001 items"),
        (replace(POLICY, blocked_sources=("10.0.0.1/8",)), "give a network"),
        (
            replace(
                POLICY,
                blocked_paths=(PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/("),),
            ),
            "correct the expression",
        ),
        (replace(POLICY, blocked_when=(FunctionCall(name="magic"),)), "no match function magic"),
    ],
)
def test_what_no_gateway_could_carry_out_is_invalid(policy: ProtectionPolicy, words: str) -> None:
    check_protection(POLICY)
    with pytest.raises(Invalid, match=words) as caught:
        check_protection(policy)
    assert caught.value.code == "policy_invalid"
