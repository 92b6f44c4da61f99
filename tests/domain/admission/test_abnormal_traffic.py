"""Clients that are scored: what each signal sees, levels that last, and who gets what."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.abnormal_traffic.client import (
    Client,
    answered,
    different,
    seen,
    totals,
)
from controlplane.domain.admission.abnormal_traffic.policy import (
    AbnormalTrafficPolicy,
    RiskLevel,
    ScoreRule,
    Signal,
    check_abnormal_traffic,
)
from controlplane.domain.admission.abnormal_traffic.scoring import (
    Scored,
    TrafficFacts,
    decide,
    scorer,
    signals,
    verdict_of,
)
from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import FunctionCall

BOT = FunctionCall(name="user_agent_family", arguments=(("family", "bot"),))
POLICY = AbnormalTrafficPolicy(
    rules=(
        ScoreRule(name="fast", score=40, signal=Signal.RATE_RPS, at_least=5.0, requests=10),
        ScoreRule(name="hasty", score=60, signal=Signal.OPEN_TO_ORDER_S, at_most=0.5),
        ScoreRule(name="guessing", score=80, signal=Signal.FAILED_LOGINS, at_least=5.0),
        ScoreRule(name="agent", score=30, when=(BOT,)),
    ),
    levels=(
        RiskLevel(at_least=20, verdict=Verdict.ADMIT),
        RiskLevel(at_least=40, service="slow"),
        RiskLevel(at_least=80, verdict=Verdict.CHALLENGE),
        RiskLevel(at_least=100, verdict=Verdict.REFUSE),
    ),
    login_routes=("login",),
    open_routes=("item",),
    order_routes=("order",),
)


def asked(now_s: float, route: str = "item", path: str = "/item", agent: str = "") -> Asked:
    request = Request(path=path, headers={"user-agent": agent})
    return Asked(request=request, now_s=now_s, route=route, user="ann")


def after(*requests: Asked, policy: AbnormalTrafficPolicy = POLICY) -> Scored:
    judge, client = scorer(policy), None
    for one in requests:
        scored = judge(client, one)
        client = scored.client
    return scored


def test_a_person_who_reads_and_orders_has_no_score() -> None:
    scored = after(asked(100.0), asked(107.0, path="/item/2"), asked(121.0, "order", "/order"))
    assert (scored.score, scored.hits, scored.level) == (0, (), 0)
    decision = verdict_of(POLICY, scored)
    assert (decision.verdict, decision.reason) == (Verdict.ADMIT, "")
    assert decision.details == {"level": 0, "score": 0, "rules": []}


@pytest.mark.parametrize(
    ("requests", "verdict", "hits"),
    [
        ([asked(100.0, agent="curl/8")], Verdict.ADMIT, ["agent"]),
        ([asked(100.0 + n / 10) for n in range(30)], Verdict.DIVERT, ["fast"]),
        (
            [asked(100.0, agent="curl/8"), asked(100.2, "order", "/order", "curl/8")],
            Verdict.CHALLENGE,
            ["hasty", "agent"],
        ),
        (
            [*[asked(100.0 + n / 10) for n in range(5)], *[asked(100.5, "order")] * 20],
            Verdict.REFUSE,
            ["fast", "hasty"],
        ),
    ],
)
def test_each_level_gets_what_is_declared_and_says_why(
    requests: list[Asked], verdict: Verdict, hits: list[str]
) -> None:
    decision = verdict_of(POLICY, after(*requests))
    assert (decision.verdict, decision.details["rules"]) == (verdict, hits)
    assert decision.service == ("slow" if verdict is Verdict.DIVERT else "")
    assert decision.status == (403 if verdict in {Verdict.CHALLENGE, Verdict.REFUSE} else 0)


def test_a_level_lasts_while_the_client_pauses_and_a_lower_one_does_not_end_it() -> None:
    judge = scorer(POLICY)
    hasty = after(asked(100.0), asked(100.1, "order"))
    assert hasty.level == 2
    worse = judge(hasty.client, asked(200.0, agent="curl/8"))
    assert (worse.level, worse.hits) == (3, ("hasty", "agent"))
    paused = judge(
        after(*[asked(100.0 + n / 10) for n in range(30)]).client, asked(350.0, agent="curl/8")
    )
    assert (paused.level, paused.hits) == (2, ("agent",))
    over = judge(paused.client, asked(450.0))
    assert (over.level, over.client.since_s) == (0, 450.0)
    assert over.client.opened_s == 100.0
    silent = judge(over.client, asked(900.0))
    assert silent.client.opened_s == 900.0


def test_a_level_ends_for_one_who_stays_and_behaves() -> None:
    policy = replace(POLICY, hold_s=10.0)
    judge = scorer(policy)
    client = after(*[asked(100.0 + n / 10) for n in range(30)], policy=policy).client
    calm = [judge(client, asked(160.0)), judge(client, asked(130.0))]
    assert [one.level for one in calm] == [0, 0]


def test_failed_logins_are_counted_from_answers() -> None:
    login = asked(100.0, "login", "/login")
    client = seen(POLICY, None, login)
    for status in (401, 200, 403, 401, 500):
        client = answered(POLICY, client, login, status, 100.0)
    client = answered(POLICY, client, asked(100.0), 401, 100.0)
    assert totals(POLICY, client, 100.0).failed_logins == 3
    assert totals(POLICY, client, 165.0).failed_logins == 0


def test_signals_of_a_client() -> None:
    client = None
    for number in range(100):
        client = seen(POLICY, client, asked(100.0 + number / 10, path=f"/item/{number}"))
    assert client is not None
    values = signals(POLICY, client, 110.0)
    assert values[Signal.RATE_RPS] == pytest.approx(10.0)
    assert values[Signal.PATHS] == pytest.approx(100.0, rel=0.1)
    assert values[Signal.PATHS_PER_REQUEST] == pytest.approx(1.0, rel=0.1)
    assert values[Signal.ORDER_WITHOUT_OPEN] == 0.0
    assert Signal.OPEN_TO_ORDER_S not in values
    blind = signals(POLICY, seen(POLICY, None, asked(1.0, "order")), 1.0)
    assert (blind[Signal.ORDER_WITHOUT_OPEN], blind[Signal.ORDERS]) == (1.0, 1.0)
    assert blind[Signal.RATE_RPS] == 1.0


def test_a_clock_that_went_back_gives_no_negative_time() -> None:
    client = seen(POLICY, seen(POLICY, None, asked(105.0)), asked(104.0, "order"))
    assert client.took_s == 0.0


def test_more_paths_than_bits_are_still_a_number() -> None:
    assert different((1 << 256) - 1) == pytest.approx(256 * math.log(256))


def test_a_dry_run_may_be_told_what_is_known_of_the_client() -> None:
    known = after(asked(100.0)).client
    decision = decide(POLICY, asked(100.2, "order"), TrafficFacts(client=known))
    assert decision.details["rules"] == ["hasty"]
    assert decide(POLICY, asked(100.2), TrafficFacts()).verdict is Verdict.ADMIT
    assert isinstance(known, Client)


LEVEL = RiskLevel(at_least=10, service="slow")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"client": ()}, "client is empty"),
        ({"client": ("shoe",)}, "key has 'shoe'"),
        ({"window_s": 0.0}, "window_s is 0.0"),
        ({"hold_s": -1.0}, "hold_s is -1.0"),
        ({"levels": (LEVEL,) * 10}, "10 levels"),
        ({"rules": POLICY.rules * 26}, "104 rules"),
        ({"levels": (LEVEL, LEVEL)}, r"levels begin at \[10, 10\]"),
        ({"levels": (replace(LEVEL, at_least=0),)}, "a level begins at 0"),
        ({"levels": (replace(LEVEL, verdict=Verdict.WAIT),)}, "a level says wait"),
        ({"levels": (replace(LEVEL, service=""),)}, "says divert with service none"),
        ({"rules": (ScoreRule(name="r", score=1),)}, "rule r needs a signal or match"),
        (
            {"rules": (ScoreRule(name="r", score=1, signal=Signal.PATHS),)},
            "rule r has no bound",
        ),
        ({"rules": (ScoreRule(name="r", score=2_000, when=(BOT,)),)}, "rule r scores 2000"),
        (
            {"rules": (ScoreRule(name="r", score=1, when=(BOT,), requests=0),)},
            "rule r needs 0 requests",
        ),
        (
            {"rules": (ScoreRule(name="r", score=1, when=(FunctionCall(name="none"),)),)},
            "rule r: ",
        ),
    ],
)
def test_what_cannot_be_carried_out_says_what(values: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        check_abnormal_traffic(replace(POLICY, **values))  # type: ignore[arg-type]


def test_what_can_be_carried_out() -> None:
    check_abnormal_traffic(POLICY)
    check_abnormal_traffic(AbnormalTrafficPolicy())
