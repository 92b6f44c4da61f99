"""From what observers, requests and operators say to the picture."""

import pytest

from controlplane.domain.health.judging import Evidence, Orders, endpoint_keys
from controlplane.domain.health.picture import Health
from controlplane.domain.health.states import CenterEvent, CenterState, EndpointEvent, EndpointState
from controlplane.domain.services import AllDown, Service
from tests.domain.health.site import cluster, evidence, next_picture, saying, service

SHOP = service()
E, C = EndpointState, CenterState
EAST, WEST = (10, 11), (20, 21)


def states(health: Health) -> dict[int, EndpointState]:
    return {
        one.key.port: one.state
        for place in health.services["shop"].places
        for each in place.clusters
        for one in each.endpoints
    }


def usable(health: Health, declared: Service = SHOP) -> set[int]:
    out = {key.port for key in health.unusable("shop")}
    return {key.port for key in endpoint_keys(declared)} - out


def seen(unhealthy: tuple[int, ...], now_s: float = 100.0) -> Evidence:
    return evidence({"own": saying(SHOP, unhealthy)}, now_s)


WELL = next_picture(SHOP, seen(()))


def test_endpoints_are_what_their_checks_say() -> None:
    health = next_picture(SHOP, seen((11,)), WELL)
    assert states(health) == {10: E.HEALTHY, 11: E.UNHEALTHY, 20: E.HEALTHY, 21: E.HEALTHY}
    assert usable(health) == {10, 20, 21}
    (east, west) = health.services["shop"].places
    assert (east.usable_share, east.down, west.usable_share) == (0.5, False, 1.0)
    assert health.centers["east"].state is C.DEGRADED
    assert health.centers["west"].state is C.SERVING


def test_a_state_keeps_its_time_and_its_reason() -> None:
    first = next_picture(SHOP, seen((11,)), WELL)
    later = next_picture(SHOP, seen((11,), now_s=200.0), first)
    (_, fallen) = later.services["shop"].places[0].clusters[0].endpoints
    assert (fallen.since_s, fallen.why) == (100.0, "refused")
    assert later.centers["east"].since_s == 100.0
    assert later.services["shop"].places[0].since_s == 100.0


def test_a_centre_of_which_nothing_is_left_is_down() -> None:
    health = next_picture(SHOP, seen(EAST, now_s=300.0), WELL)
    assert health.down("shop", "east")
    assert not health.down("shop", "west")
    center = health.centers["east"]
    assert (center.down, center.down_services, center.state) == (True, ("shop",), C.DEGRADED)
    assert health.services["shop"].places[0].since_s == 300.0


def test_nothing_is_down_while_nobody_is_seen_well_elsewhere() -> None:
    facts = evidence({"own": saying(SHOP, EAST, unknown=WEST)})
    health = next_picture(SHOP, facts)
    assert usable(health) == set(WEST)
    assert not health.down("shop", "east")
    assert health.out() == {}


def test_what_nobody_judged_yet_is_used_until_there_is_evidence_against_it() -> None:
    new = next_picture(SHOP, evidence({}))
    assert set(states(new).values()) == {E.UNKNOWN}
    assert usable(new) == {10, 11, 20, 21}
    # The first judgments come one after the other: nothing is taken out and put back meanwhile.
    for unjudged in ((11, 20, 21), (20, 21), (21,), ()):
        new = next_picture(SHOP, evidence({"own": saying(SHOP, unknown=unjudged)}, 101.0), new)
        assert usable(new) == {10, 11, 20, 21}
        assert new.out() == {}
        assert {one.state for one in new.centers.values()} == {C.SERVING}
    partly = next_picture(SHOP, evidence({"own": saying(SHOP, (10,), unknown=(11,))}))
    assert usable(partly) == {11, 20, 21}


def test_who_joins_others_that_are_well_gets_nothing_before_its_first_judgment() -> None:
    grown = service(clusters=(cluster("east", 3), cluster("west", 2)))
    known = saying(grown, unknown=(12,))
    joined = next_picture(grown, evidence({"own": known}, 200.0), WELL)
    assert usable(joined, grown) == {10, 11, 20, 21}
    later = next_picture(grown, evidence({"own": known}, 300.0), joined)
    assert usable(later, grown) == {10, 11, 20, 21}
    # Nobody knows better than it any more.
    lonely = next_picture(grown, evidence({"own": saying(grown, EAST, (12,))}, 400.0), later)
    assert usable(lonely, grown) == {12, 20, 21}
    assert usable(next_picture(grown, seen(()), joined), grown) == {10, 11, 20, 21}
    judged = next_picture(grown, evidence({"own": saying(grown)}, 300.0), joined)
    assert usable(judged, grown) == {10, 11, 12, 20, 21}


def test_one_of_three_observers_changes_nothing() -> None:
    said = {"a": saying(SHOP, (*EAST, *WEST)), "b": saying(SHOP), "c": saying(SHOP)}
    health = next_picture(SHOP, evidence(said), WELL)
    assert health.services == WELL.services
    assert not health.held


def test_a_majority_that_is_cut_off_holds_everything() -> None:
    blind = saying(SHOP, (*EAST, *WEST))
    health = next_picture(SHOP, evidence({"a": blind, "b": blind, "c": saying(SHOP)}), WELL)
    assert health.held
    assert health.services == WELL.services
    fails = frozenset({("shop", "east", "")})
    failing = evidence({"a": blind, "b": saying(SHOP)}, failing=fails)
    assert next_picture(SHOP, failing, WELL).services == WELL.services


def test_a_cluster_whose_requests_fail_gets_none() -> None:
    facts = evidence({"own": saying(SHOP)}, failing=frozenset({("shop", "east", "")}))
    health = next_picture(SHOP, facts, WELL)
    assert states(health)[10] is E.HEALTHY
    assert usable(health) == set(WEST)
    assert health.down("shop", "east")
    # Held, it stays out.
    blind = saying(SHOP, (*EAST, *WEST))
    held = next_picture(SHOP, evidence({"a": blind, "b": saying(SHOP)}), health)
    assert held.down("shop", "east")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(AllDown.HOLD, {20, 21}), (AllDown.OPEN, {10, 11, 20, 21}), (AllDown.CLOSED, set())],
)
def test_when_all_look_dead_the_policy_holds(policy: AllDown, expected: set[int]) -> None:
    declared = service(policy)
    east = next_picture(declared, evidence({"own": saying(declared, EAST)}, 300.0), WELL)
    first = evidence({"own": saying(declared, (*EAST, 20))}, 400.0)
    last = evidence({"own": saying(declared, (*EAST, *WEST))}, 401.0)
    health = next_picture(declared, last, next_picture(declared, first, east))
    assert health.services["shop"].all_down
    assert usable(health, declared) == expected
    assert not health.down("shop", "east")
    assert not health.down("shop", "west")
    assert not any(center.down for center in health.centers.values())
    # It stays so, and after a first endpoint that is well again it is over.
    later = evidence({"own": saying(declared, (*EAST, *WEST))}, 500.0)
    assert usable(next_picture(declared, later, health), declared) == expected
    back = evidence({"own": saying(declared, (*EAST, 20))}, 600.0)
    assert usable(next_picture(declared, back, health), declared) == {21}


def test_clusters_whose_requests_fail_everywhere_are_a_fall_too() -> None:
    fails = frozenset({("shop", "east", ""), ("shop", "west", "")})
    health = next_picture(SHOP, evidence({"own": saying(SHOP)}, failing=fails), WELL)
    assert health.services["shop"].all_down
    assert usable(health) == {10, 11, 20, 21}


def test_an_operators_word_outranks_the_checks_until_it_is_taken_back() -> None:
    east = [key for key in endpoint_keys(SHOP) if key.datacenter == "east"]
    words = {east[0]: EndpointEvent.DRAINED, east[1]: EndpointEvent.FORCED}
    orders = Orders(endpoints=words)
    said = {"own": saying(SHOP, (11,))}
    health = next_picture(SHOP, evidence(said, orders=orders), WELL)
    assert states(health) == {10: E.DRAINING, 11: E.FORCED, 20: E.HEALTHY, 21: E.HEALTHY}
    assert usable(health) == {11, 20, 21}
    over = next_picture(SHOP, evidence(said), health)
    assert states(over) == {10: E.HEALTHY, 11: E.UNHEALTHY, 20: E.HEALTHY, 21: E.HEALTHY}


def test_a_drained_service_has_not_fallen() -> None:
    everything = dict.fromkeys(endpoint_keys(SHOP), EndpointEvent.DRAINED)
    facts = evidence({"own": saying(SHOP)}, orders=Orders(endpoints=everything))
    health = next_picture(SHOP, facts, WELL)
    assert not health.services["shop"].all_down
    assert usable(health) == set()
    assert not health.down("shop", "east")


def test_a_standby_keeps_a_centre_up_and_bears_no_share() -> None:
    declared = service(
        clusters=(cluster("east", 2), cluster("east", 2, "spare", standby=True), cluster("west", 2))
    )
    health = next_picture(declared, evidence({"own": saying(declared, EAST)}))
    (east, _) = health.services["shop"].places
    assert (east.down, east.usable_share) == (False, 0.0)
    assert [one.standby for one in east.clusters] == [False, True]


def test_a_place_without_endpoints_is_never_down() -> None:
    declared = service(clusters=(cluster("east", 0), cluster("west", 2)))
    health = next_picture(declared, evidence({"own": saying(declared)}))
    assert (health.down("shop", "east"), health.services["shop"].places[0].usable_share) == (
        False,
        0.0,
    )
    assert health.centers["east"].state is C.SERVING


def test_a_centre_that_no_fleet_names_any_more_is_left_out() -> None:
    declared = service(clusters=(cluster("east", 2), cluster("south", 2)))
    health = next_picture(declared, evidence({"own": saying(declared)}))
    assert set(health.centers) == {"east", "west"}


def test_a_centre_follows_what_is_done_with_it() -> None:
    said = {"own": saying(SHOP, EAST)}
    found = []
    health = WELL
    for order in (CenterEvent.EVACUATE, CenterEvent.EVACUATE, CenterEvent.RETURN, None):
        centers = {} if order is None else {"east": order}
        facts = evidence(said, orders=Orders(centers=centers))
        health = next_picture(SHOP, facts, health)
        found.append(health.centers["east"].state)
        said = {"own": saying(SHOP)}
    assert found == [C.EVACUATED, C.EVACUATED, C.RETURNING, C.SERVING]
    drained = evidence(said, orders=Orders(centers={"east": CenterEvent.DRAIN}))
    health = next_picture(SHOP, drained, health)
    assert health.centers["east"].state is C.DRAINING
    assert next_picture(SHOP, evidence(said), health).centers["east"].state is C.SERVING
