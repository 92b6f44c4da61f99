from dataclasses import replace

import pytest

from controlplane.domain.admission.native_tickets import (
    CheckedQueue,
    checked_queue,
    is_all,
    ticket_filter,
    unless_admitted,
)
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.routing.route import Route

QUEUE = Policy(name="seats", session_queue=SessionQueuePolicy(keys='{"keys": []}'))
CHECKED = CheckedQueue(name="seats", keys='{"keys": []}')
EDGE = Policy(name="edge", protection=ProtectionPolicy())
SHOP = Route(id="shop", service="tickets")


def test_the_only_queue_that_says_its_keys_is_checked() -> None:
    assert checked_queue([EDGE, QUEUE]) == CHECKED


@pytest.mark.parametrize(
    "policies",
    [
        [],
        [EDGE],
        [replace(QUEUE, mode=Mode.OBSERVE)],
        [replace(QUEUE, session_queue=SessionQueuePolicy())],
        [replace(QUEUE, attachment=Attachment(regions=("east",)))],
        [QUEUE, replace(QUEUE, name="other")],
    ],
)
def test_otherwise_none_is(policies: list[Policy]) -> None:
    assert checked_queue(policies) is None


@pytest.mark.parametrize(
    ("attachment", "all_of_it"),
    [
        (Attachment(), False),
        (Attachment(routes=("shop",)), False),
        (Attachment(services=("tickets",)), False),
        (Attachment(routes=("else",)), True),
        (Attachment(services=("else",)), True),
        (Attachment(routes=("shop",), services=("else",)), True),
    ],
)
def test_a_route_that_something_else_is_asked_about_needs_the_agent(
    attachment: Attachment, all_of_it: bool
) -> None:
    beside = replace(EDGE, attachment=attachment)
    assert is_all([beside, QUEUE], CHECKED, SHOP) is all_of_it
    assert is_all([replace(beside, mode=Mode.OBSERVE), QUEUE], CHECKED, SHOP) is all_of_it
    assert is_all([replace(beside, mode=Mode.OFF), QUEUE], CHECKED, SHOP)


def test_a_route_in_gray_is_the_declared_one() -> None:
    only = replace(QUEUE, attachment=Attachment(routes=("shop",)))
    assert is_all([only], CHECKED, replace(SHOP, id="gray/shop"))
    assert not is_all([only], CHECKED, replace(SHOP, id="else"))


def test_envoy_reads_tickets_of_one_queue_everywhere_or_of_those_that_routes_name() -> None:
    one = ticket_filter({"a": "{}"}, "a")["typed_config"]
    assert one["rules"][0]["match"] == {"prefix": "/"}
    assert one["providers"]["a"]["audiences"] == ["a"]
    several = ticket_filter({"a": "{}", "b": "{}"})["typed_config"]
    assert set(several["requirement_map"]) == {"a", "b"}
    assert "rules" not in several


def test_who_is_inside_is_not_asked_about() -> None:
    asks = {"name": "x", "typed_config": {"stays": 1}}
    config = unless_admitted(asks)["typed_config"]
    assert config["stays"] == 1
    assert config["filter_enabled_metadata"]["path"] == [{"key": "~ticket"}, {"key": "adm"}]
