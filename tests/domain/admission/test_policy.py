"""What a policy is attached to, and which kind it is."""

import dataclasses

import pytest

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import (
    KINDS,
    Attachment,
    Policy,
    PolicyKind,
    check_policy,
    in_order,
)
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

SEATS = Asked(
    request=Request(path="/seats"), now_s=0.0, route="seats", service="chain", region="north"
)


@pytest.mark.parametrize(
    ("attachment", "covers"),
    [
        (Attachment(), True),
        (Attachment(routes=("maps", "seats")), True),
        (Attachment(services=("chain",), regions=("north",)), True),
        (Attachment(routes=("maps",)), False),
        (Attachment(services=("chain",), regions=("south",)), False),
    ],
)
def test_all_lists_that_name_something_must_name_it(attachment: Attachment, covers: bool) -> None:
    assert attachment.covers(SEATS) is covers


def test_a_sale_is_asked_on_routes_that_it_names_and_nowhere_else() -> None:
    # Without any it has processes of its own; it would answer every page of the site with 404.
    sale = FlashSalePolicy(
        item="phone",
        stock=1,
        opens_at_s=1.0,
        ends_at_s=2.0,
        orders_url="http://127.0.0.1:9/orders",
    )
    alone = Policy(name="phones", flash_sale=sale)
    assert not alone.covers(SEATS)
    assert not dataclasses.replace(alone, attachment=Attachment(services=("chain",))).covers(SEATS)
    assert dataclasses.replace(alone, attachment=Attachment(routes=("seats",))).covers(SEATS)


def test_a_policy_has_exactly_one_kind() -> None:
    guarded = Policy(name="edge", protection=ProtectionPolicy())
    assert (guarded.kind, guarded.spec) == (PolicyKind.PROTECTION, ProtectionPolicy())
    check_policy(guarded)
    with pytest.raises(Invalid, match="policy edge has 0 kinds"):
        check_policy(Policy(name="edge"))


def test_a_queue_is_not_named_as_the_tickets_of_those_who_wait_in_another() -> None:
    # A proxy takes the audience `seats.waiting` for the inside of a queue of that name.
    check_policy(Policy(name="seats", session_queue=SessionQueuePolicy()))
    with pytest.raises(Invalid, match=r"ends in \.waiting"):
        check_policy(Policy(name="seats.waiting", session_queue=SessionQueuePolicy()))


def test_policies_are_asked_by_kind_and_name() -> None:
    spec = ProtectionPolicy()
    one, other = Policy(name="a", protection=spec), Policy(name="b", protection=spec)
    assert in_order([other, one]) == (one, other)


def test_every_kind_has_a_field_rules_and_facts() -> None:
    fields = {field.name for field in dataclasses.fields(Policy)}
    assert set(PolicyKind) == fields - {"name", "mode", "attachment", "when_away"}
    assert set(KINDS) == set(PolicyKind)
    for rules in KINDS.values():
        assert dataclasses.is_dataclass(rules.facts())
