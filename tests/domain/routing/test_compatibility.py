"""Whether two routes can mean one request, and whether one takes all of the other's."""

import pytest

from controlplane.domain.routing.compatibility import can_meet, contradiction, takes
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FunctionCall,
    Route,
    TextMatchType,
)
from tests.domain.routing.drawn import header, routed

EXACT, PREFIX = TextMatchType.EXACT, TextMatchType.PREFIX
EXPRESSION = TextMatchType.REGULAR_EXPRESSION
PRESENT, ABSENT = TextMatchType.PRESENT, TextMatchType.ABSENT
ANY = routed("any")


def on(kind: TextMatchType, value: str = "", name: str = "h") -> Route:
    return routed("r", conditions=(Condition(name=name, type=kind, value=value),))


def user(low: int, high: int, by: CohortKey = CohortKey.USER) -> Route:
    return routed("r", cohort=Cohort(by=by, low=low, high=high))


TEN = routed("r", sources=("10.0.0.0/8",))
RISK = (FunctionCall(name="risk_level", arguments=(("at_least", "4"),)),)

# One, other, whether they can meet, whether one takes the other's, and the other the one's.
PAIRS = [
    (ANY, ANY, True, True, True),
    (ANY, on(EXACT, "a"), True, True, False),
    (on(EXACT, "a"), on(EXACT, "b"), False, False, False),
    (on(EXACT, "a"), on(EXACT, "b", "other"), True, False, False),
    (on(PREFIX, "a"), on(EXACT, "ab"), True, True, False),
    (on(PREFIX, "a"), on(EXACT, "b"), False, False, False),
    (on(PREFIX, "a"), on(PREFIX, "ab"), True, True, False),
    (on(PREFIX, "a"), on(PREFIX, "b"), False, False, False),
    (on(EXPRESSION, "[ab]"), on(EXACT, "a"), True, True, False),
    (on(EXPRESSION, "[ab]"), on(EXACT, "c"), False, False, False),
    (on(EXPRESSION, "a+"), on(EXPRESSION, "b+"), True, False, False),
    (on(EXPRESSION, "a+"), on(PREFIX, "b"), True, False, False),
    (on(PRESENT), on(EXACT, "a"), True, True, False),
    (on(PRESENT), on(PREFIX, "a"), True, True, False),
    (on(PRESENT), on(ABSENT), False, False, False),
    (on(ABSENT), on(ABSENT), True, True, True),
    (on(EXACT, "a"), on(ABSENT), False, False, False),
    (routed("r", methods=("GET", "PUT")), routed("r", methods=("GET",)), True, True, False),
    (routed("r", methods=("GET",)), routed("r", methods=("PUT",)), False, False, False),
    (ANY, routed("r", methods=("GET",)), True, True, False),
    (routed("r", gateways=("e",)), routed("r", gateways=("w",)), False, False, False),
    (TEN, routed("r", sources=("10.1.0.0/16",)), True, True, False),
    (TEN, routed("r", sources=("11.0.0.0/8",)), False, False, False),
    (TEN, routed("r", sources=("::/0",)), False, False, False),
    (ANY, TEN, True, True, False),
    (ANY, routed("r", functions=RISK), True, True, False),
    (user(0, 2_000), user(0, 500), True, True, False),
    (user(0, 500), user(500, 900), False, False, False),
    (user(0, 500), user(0, 500, CohortKey.REQUEST), True, False, False),
    (user(0, 10_000), user(0, 500), True, True, False),
    (user(0, 10_000), ANY, True, True, True),
    (routed("r", valid_until_s=5.0), routed("r", valid_from_s=5.0), False, False, False),
    (routed("r", valid_until_s=5.0), routed("r", valid_until_s=4.0), True, True, False),
    (ANY, routed("r", valid_from_s=1.0), True, True, False),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "meet", "takes_other", "takes_one"), PAIRS)
def test_pairs(one: Route, other: Route, meet: bool, takes_other: bool, takes_one: bool) -> None:
    assert can_meet(one, other) is can_meet(other, one) is meet
    assert takes(one, other) is takes_other
    assert takes(other, one) is takes_one


@pytest.mark.parametrize(
    ("route", "told"),
    [
        (ANY, ""),
        (routed("r", conditions=header("a") + header("b")), ""),
        (
            routed("r", conditions=header("a", "1") + header("a", "2")),
            "two conditions on header a exclude each other",
        ),
        (routed("r", cohort=Cohort(low=5, high=5)), "its cohort is empty"),
        (routed("r", cohort=Cohort(low=5, high=6)), ""),
    ],
)
def test_what_no_request_can_fulfil(route: Route, told: str) -> None:
    assert contradiction(route) == told
