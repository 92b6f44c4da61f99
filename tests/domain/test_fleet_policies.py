"""Policies of a fleet judged."""

from dataclasses import replace

from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.fleet_policies import frozen, invalid, unknown_references
from controlplane.domain.routing.life.release import Life, Release
from controlplane.domain.routing.route import Route
from controlplane.domain.topology import Fleet, GatewayGroup
from tests.builders import fleet

DRAFT = Release(
    route=Route(id="draft", service="tickets"), life=Life.DRAFT, author="o", changed_s=0.0
)


def declared(*policies: Policy) -> Fleet:
    return replace(fleet(), policies=policies)


def attached(**lists: tuple[str, ...]) -> Policy:
    return Policy(name="edge", attachment=Attachment(**lists), protection=ProtectionPolicy())


def test_policies_that_cannot_be_carried_out_are_named() -> None:
    wrong = Policy(name="wrong", protection=ProtectionPolicy(most_headers=0))
    assert invalid((attached(), wrong)) == {"wrong": "protection: most_headers is 0: give 1..10000"}


def test_a_frozen_sale_stays_as_it_is_and_nothing_else_does() -> None:
    sale = FlashSalePolicy(
        item="phone", stock=2, opens_at_s=100.0, ends_at_s=200.0, orders_url="http://shop/orders"
    )
    before = declared(attached(), Policy(name="phones", flash_sale=sale))
    less = declared(Policy(name="phones", flash_sale=replace(sale, stock=1)))
    assert list(frozen((before, less), 150.0, ())) == ["phones"]
    assert frozen((before, before), 150.0, ()) == {}
    assert frozen((before, less), 200.0, ()) == {}


def test_what_is_declared_is_no_finding() -> None:
    facts = replace(
        declared(
            attached(
                routes=("draft", "tickets-all"), services=("tickets",), regions=("north", "south")
            )
        ),
        gateways=(GatewayGroup(name="edge", region="south"), GatewayGroup(name="inner")),
        releases=(DRAFT,),
    )
    assert list(unknown_references(facts)) == []


def test_a_policy_has_one_finding_for_all_that_it_names_in_vain() -> None:
    lost = attached(routes=("a", "b", "c", "d"), services=("e",), regions=("f",))
    (finding,) = unknown_references(declared(lost))
    assert (finding.code, finding.subject) == ("policy_reference_unknown", "policy/edge")
    assert "route a, route b" in finding.message
    assert "service e and 1 more, which" in finding.message
