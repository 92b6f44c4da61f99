"""Match functions: their calls, and that lowering them changes no answer."""

import pytest

from controlplane.domain.routing.matching.functions import faults, lowered, predicate
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Condition, FunctionCall, Route


def call(name: str, **arguments: str) -> FunctionCall:
    return FunctionCall(name=name, arguments=tuple(sorted(arguments.items())))


CALLS = (
    call("risk_level", at_least="4"),
    call("risk_level", at_least="2", at_most="3", header="x-risk"),
    call("risk_level", at_least="5", at_most="3"),
    call("user_agent_family", family="bot"),
    call("user_agent_family", family="wechat"),
    call("language", first="zh"),
    call("referring_host", host="www.example.com"),
)
REQUESTS = [
    Request(path="/", headers=headers)
    for headers in (
        {},
        {"x-risk-level": "4", "x-risk": "3"},
        {"x-risk-level": "12", "x-risk": "1"},
        {"user-agent": "Mozilla/5.0 (Linux; Android 14) MicroMessenger/8.0"},
        {"user-agent": "curl/8.0"},
        {"accept-language": "zh-CN,zh;q=0.9"},
        {"accept-language": "ZH"},
        {"accept-language": "zhx"},
        {"referer": "https://www.example.com/tickets"},
        {"referer": "https://www.example.com.evil.org/"},
        {"referer": "http://WWW.example.com:8080"},
    )
]


@pytest.mark.parametrize("given", CALLS, ids=lambda given: f"{given.name}{given.arguments}")
def test_plain_conditions_say_the_same(given: FunctionCall) -> None:
    holds = predicate(given, PROVIDED)
    plain = lowered(Route(id="r", service="s", functions=(given,)), PROVIDED)
    assert plain is not None
    assert plain.functions == ()
    table = Table.of([plain])
    for request in REQUESTS:
        assert holds(request) == (table.match(request, 0.0).route is not None), request


@pytest.mark.parametrize(
    ("given", "headers", "holds"),
    [
        (CALLS[0], {"x-risk-level": "4"}, True),
        (CALLS[0], {"x-risk-level": "3"}, False),
        (CALLS[2], {"x-risk-level": "4"}, False),
        (CALLS[3], {"user-agent": "GoogleBot"}, True),
        (CALLS[4], {"user-agent": "MicroMessenger"}, True),
        (CALLS[5], {"accept-language": "zh;q=1"}, True),
        (CALLS[6], {"referer": "https://www.example.com/"}, True),
        (call("hashed_share", header="x-user", high="10000"), {"x-user": "a"}, True),
        (call("hashed_share", header="x-user", high="0"), {"x-user": "a"}, False),
        (call("hashed_share", header="x-user", high="10000"), {}, False),
    ],
)
def test_what_a_function_answers(given: FunctionCall, headers: dict[str, str], holds: bool) -> None:
    assert predicate(given, PROVIDED)(Request(path="/", headers=headers)) is holds


def test_a_hashed_share_is_that_share_of_users() -> None:
    holds = predicate(call("hashed_share", header="x-user", high="500"), PROVIDED)
    users = [Request(path="/", headers={"x-user": f"user {at}"}) for at in range(4_000)]
    assert sum(map(holds, users)) == pytest.approx(200, abs=45)


def test_what_no_data_plane_can_express_is_not_lowered() -> None:
    share = call("hashed_share", header="x-user", high="500")
    assert lowered(Route(id="r", service="s", functions=(share,)), PROVIDED) is None
    assert lowered(Route(id="r", service="s", functions=(call("unknown"),)), PROVIDED) is None


def test_conditions_of_the_route_stay() -> None:
    mine = Condition(name="x-a", value="1")
    plain = lowered(Route(id="r", service="s", conditions=(mine,), functions=(CALLS[0],)), PROVIDED)
    assert plain is not None
    assert [each.name for each in plain.conditions] == ["x-a", "x-risk-level"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (CALLS[0], []),
        (call("risk"), ["no match function risk; there are hashed_share, language,"]),
        (call("risk_level"), ["risk_level needs the argument at_least"]),
        (call("risk_level", at_least="x"), ["at_least of risk_level must match [0-9]: 'x'"]),
        (
            call("language", first="zh", second="en"),
            ["language has no argument second"],
        ),
    ],
)
def test_faults_of_a_call_are_told(given: FunctionCall, found: list[str]) -> None:
    told = faults(given, PROVIDED)
    assert len(told) == len(found)
    for text, beginning in zip(told, found, strict=True):
        assert text.startswith(beginning)
