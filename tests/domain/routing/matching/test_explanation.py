"""Who wins, who would be next, and why the others lost."""

from dataclasses import replace

from controlplane.domain.routing.matching.explanation import Lost, explained
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Reason, Table
from controlplane.domain.routing.precedence import Difference
from controlplane.domain.routing.route import (
    Cohort,
    Condition,
    FunctionCall,
    Part,
    TextMatchType,
)
from tests.domain.routing.drawn import header, routed

RISK = FunctionCall(name="risk_level", arguments=(("at_least", "4"),))
PARAM = Condition(part=Part.QUERY_PARAM, name="debug", type=TextMatchType.PRESENT)
DEMANDING = routed(
    "demanding",
    "/a/b",
    methods=("POST",),
    conditions=(*header("x-channel", "app"), PARAM),
    sources=("10.0.0.0/8",),
    functions=(RISK,),
    cohort=Cohort(high=500),
    valid_until_s=5.0,
)
NEXT, LAST = routed("next", "/a"), routed("last", "~/a/.*")
WINNER = routed("winner", "/a/b")
ELSEWHERE = routed("elsewhere", "/a/b", hosts=("*.example.com", "*"))
ROUTES = (WINNER, DEMANDING, NEXT, LAST, routed("other", "/b"))
REQUEST = Request(path="/a/b/c", host="shop.example.com")


def table() -> Table:
    hosted = [replace(route, hosts=("shop.example.com",)) for route in ROUTES]
    return Table.of([*hosted, ELSEWHERE, routed("third", hosts=("*",))])


def test_the_winner_the_next_and_the_losers_are_told() -> None:
    told = explained(table(), REQUEST, 9.0)
    assert told.match.route is not None
    assert (told.match.route.id, told.match.reason) == ("winner", Reason.PREFIX)
    assert told.host == "shop.example.com"
    assert told.next is not None
    assert told.next.id == "next"
    assert [(each.route.id, each.lost, each.before) for each in told.losers] == [
        ("demanding", Lost.UNMET, None),
        ("next", Lost.LATER, Difference.PATH),
        ("last", Lost.LATER, Difference.EXPRESSION),
        ("elsewhere", Lost.OTHER_HOST, Difference.HOST),
        ("third", Lost.OTHER_HOST, Difference.HOST),
    ]
    assert told.others == 1


def test_everything_that_is_missing_is_told() -> None:
    [demanding, *_] = explained(table(), REQUEST, 9.0).losers
    assert demanding.unmet == (
        "the route does not exist at this time",
        "another method",
        "a condition does not hold: header x-channel is app",
        "a condition does not hold: query argument debug is there",
        "the caller's address is in none of its networks",
        "a match function does not hold: risk_level",
        "outside the cohort",
    )


def test_at_most_so_many_losers_are_named() -> None:
    told = explained(table(), REQUEST, 9.0, most=1)
    assert [each.route.id for each in told.losers] == ["demanding"]
    assert told.others == 5
    assert told.next is not None


def test_without_a_route_there_is_no_next() -> None:
    lone = Table.of([routed("a", "/a", conditions=header("x"))])
    told = explained(lone, Request(path="/a"), 0.0)
    assert (told.match.reason, told.next, told.host) == (Reason.NO_ROUTE, None, "*")
    assert [each.lost for each in told.losers] == [Lost.UNMET]
    nowhere = explained(Table.of([routed("a", hosts=("x",))]), Request(path="/"), 0.0)
    assert (nowhere.match.reason, nowhere.host, nowhere.others) == (Reason.NO_HOST, "", 1)
