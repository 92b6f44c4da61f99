"""What standing intents make of a snapshot's content, and that nothing is left of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.intents.demands import Ground, demands
from controlplane.domain.intents.intent import (
    Admission,
    Ending,
    Intent,
    IntentKind,
    IntentState,
    Load,
    Preset,
    PresetName,
    Target,
)
from controlplane.domain.intents.overlay import Overlay, leaving, shut
from controlplane.domain.services import ServiceClass
from controlplane.domain.snapshot import ServiceLimit
from tests.domain.intents.standing_intents import (
    CENTERS,
    NOW_S,
    cluster,
    content,
    fleet,
    intent,
    published,
    service,
    weights,
)

EAST, WEST = Target(datacenter="east"), Target(datacenter="west")
SHOP = Target(service="shop")
TIGHT = Preset(name=PresetName.CIRCUIT_BREAK, concurrent=10, waiting=4)


def test_without_intents_it_is_the_same_object() -> None:
    site = fleet()
    before = content(site)
    ended = intent(IntentKind.FAILOVER, EAST, state=IntentState.ENDED)
    assert published(site, ended) == before
    assert leaving(before, (), NOW_S) == {}


def test_a_failover_takes_all_and_a_reserve_stays_out_while_there_is_room() -> None:
    found = published(fleet(), intent(IntentKind.FAILOVER, EAST))
    assert weights(found) == {"east": 0, "west": 10_000, "far": 0}


def test_a_reserve_joins_when_the_planned_load_needs_it() -> None:
    loaded = intent(IntentKind.FAILOVER, EAST, loads=(Load(service="shop", rate_rps=100.0),))
    found = published(fleet(), loaded)
    assert weights(found) == {"east": 0, "west": 8_500, "far": 1_500}


def test_one_of_a_service_only() -> None:
    site = fleet(service("shop"), service("video"))
    found = published(site, intent(IntentKind.FAILOVER, Target(service="shop", datacenter="east")))
    assert weights(found, "shop")["east"] == 0
    assert weights(found, "video")["east"] == 6_000


def test_who_is_down_gets_nothing_unless_nobody_else_is_left() -> None:
    failover = intent(IntentKind.FAILOVER, EAST)
    found = published(fleet(), failover, down=lambda _s, center: center == "west")
    assert weights(found) == {"east": 0, "west": 4_000, "far": 6_000}
    dark = published(fleet(), failover, down=lambda _s, _c: True)
    assert weights(dark) == {"east": 0, "west": 10_000, "far": 0}


def test_the_last_word_counts_when_nobody_would_be_left() -> None:
    early = intent(IntentKind.FAILOVER, EAST, 1)
    far = intent(IntentKind.FAILOVER, Target(datacenter="far"), 2)
    late = intent(IntentKind.FAILOVER, WEST, 3)
    assert weights(published(fleet(), early, far, late)) == {"east": 10_000, "west": 0, "far": 0}
    preparing = intent(IntentKind.FAILOVER, WEST, 3, state=IntentState.PREPARING, active_s=None)
    assert weights(published(fleet(), early, far, preparing)) == {
        "east": 0,
        "west": 10_000,
        "far": 0,
    }


def test_a_service_that_is_nowhere_else_is_closed() -> None:
    site = fleet(service(clusters=(cluster("east", 1),)))
    unforced = published(site, intent(IntentKind.FAILOVER, EAST))
    assert unforced == content(site)
    failover = intent(IntentKind.FAILOVER, EAST, force=True)
    found = published(site, failover)
    (route,) = found.routes.routes
    assert route.response is not None
    assert (route.response.status, route.service) == (503, "")
    assert leaving(content(site), (failover,), NOW_S) == {"shop": {"east"}}


def test_a_pin_replaces_the_split_and_a_failover_still_counts() -> None:
    pin = intent(IntentKind.PIN, SHOP, 1, shares=(("east", 1.0), ("west", 3.0)))
    assert weights(published(fleet(), pin)) == {"east": 2_500, "west": 7_500, "far": 0}
    failover = intent(IntentKind.FAILOVER, WEST, 2)
    assert weights(published(fleet(), pin, failover)) == {"east": 10_000, "west": 0, "far": 0}
    strange = intent(IntentKind.PIN, SHOP, 1, shares=(("gone", 1.0),))
    assert weights(published(fleet(), strange)) == {"east": 6_000, "west": 4_000, "far": 0}


def test_a_rollback_is_another_content_and_intents_go_over_it() -> None:
    earlier = content(fleet(service("shop"), service("video")))
    rollback = intent(IntentKind.ROLLBACK, Target(), 1, revision=7)
    assert published(fleet(), rollback, earlier={7: earlier}) == earlier
    assert published(fleet(), rollback) == content(fleet())
    failover = intent(IntentKind.FAILOVER, EAST, 2)
    found = published(fleet(), rollback, failover, earlier={7: earlier})
    # The fleet in force does not know the service: there is nobody to plan for it.
    assert weights(found, "shop")["east"] == 0
    assert weights(found, "video")["east"] == 6_000


def test_a_cluster_leaves_its_data_centre_to_the_others_there() -> None:
    site = fleet(
        service(
            clusters=(
                cluster("east", 1, name="a"),
                cluster("east", 2, name="b"),
                cluster("east", 3, name="c", standby=True),
                cluster("west", 4),
            )
        )
    )
    target = Target(service="shop", datacenter="east", cluster="a")
    (found,) = published(site, intent(IntentKind.FAILOVER, target)).endpoints.services
    assert [one.cluster for one in found.centers] == ["b", "c", ""]
    drain = intent(IntentKind.DRAIN, target, over_s=60.0)
    (found,) = published(site, drain, now_s=NOW_S + 30.0).endpoints.services
    assert [one.weight for one in found.centers] == [4_000, 10_000, 100, 100]
    nothing = Target(service="shop", datacenter="east", cluster="gone")
    assert published(site, intent(IntentKind.FAILOVER, nothing)) == content(site)


def test_an_endpoint_goes_at_once_and_the_last_one_is_its_data_centre() -> None:
    one = Target(service="shop", datacenter="east", endpoint="10.0.0.1:1")
    other = Target(service="shop", datacenter="east", endpoint="10.0.0.1:2")
    found = published(fleet(), intent(IntentKind.FAILOVER, one))
    east = found.endpoints.services[0].centers[0]
    assert east.addresses == (("10.0.0.1", 2),)
    assert weights(found) == {"east": 6_000, "west": 4_000, "far": 0}
    both = published(
        fleet(), intent(IntentKind.FAILOVER, one, 1), intent(IntentKind.FAILOVER, other, 2)
    )
    assert weights(both) == {"east": 0, "west": 10_000, "far": 0}
    preparing = intent(IntentKind.FAILOVER, one, state=IntentState.PREPARING, active_s=None)
    assert published(fleet(), preparing) == content(fleet())


def test_limits_are_tight_before_the_load_moves_and_loosen_as_it_returns() -> None:
    limits = (Admission(service="shop", preset=TIGHT, part=0.5),)

    def limit(one: Intent, now_s: float = NOW_S) -> ServiceLimit | None:
        return published(fleet(), one, now_s=now_s).endpoints.services[0].limit

    tight = ServiceLimit(concurrent=10, waiting=4)
    preparing = intent(
        IntentKind.FAILOVER, EAST, limits=limits, state=IntentState.PREPARING, active_s=None
    )
    assert limit(preparing) == tight
    assert weights(published(fleet(), preparing))["east"] == 6_000
    assert limit(intent(IntentKind.FAILOVER, EAST, limits=limits)) == tight
    returning = intent(
        IntentKind.FAILOVER,
        EAST,
        limits=limits,
        state=IntentState.RETURNING,
        returning_s=NOW_S,
        ending=Ending.UNDONE,
        return_s=100.0,
    )
    half = limit(returning, NOW_S + 49.0)
    assert half == ServiceLimit(concurrent=14, waiting=5)
    assert limit(returning, NOW_S + 90.0) is None


def test_of_several_limits_the_strictest_counts_and_a_block_wins() -> None:
    one = intent(IntentKind.PRESET, SHOP, 1, preset=TIGHT)
    two = intent(
        IntentKind.PRESET,
        SHOP,
        2,
        preset=Preset(name=PresetName.CIRCUIT_BREAK, concurrent=20, waiting=1),
    )
    found = published(fleet(), one, two)
    assert found.endpoints.services[0].limit == ServiceLimit(concurrent=10, waiting=1)
    block = intent(IntentKind.PRESET, SHOP, 3, preset=Preset(name=PresetName.BLOCK, status=403))
    (route,) = published(fleet(), one, block).routes.routes
    assert route.response is not None
    assert route.response.status == 403
    closing = intent(
        IntentKind.FAILOVER,
        EAST,
        limits=(Admission(service="shop", preset=Preset(name=PresetName.BLOCK), part=0.0),),
    )
    (route,) = published(fleet(), closing).routes.routes
    assert route.response is not None
    assert route.response.status == 503


def test_services_of_a_shared_pool_are_planned_together() -> None:
    shared = cluster("west", 3, pool="shared", cost=2.0)
    site = fleet(
        service("pay", clusters=(cluster("east", 1), shared)),
        service(
            "read",
            clusters=(cluster("east", 2), shared),
            class_of_service=ServiceClass.BEST_EFFORT,
        ),
        service("empty", clusters=(cluster("east"), cluster("west", 9))),
    )
    loads = (Load(service="pay", rate_rps=100.0), Load(service="read", rate_rps=10.0))
    found = published(site, intent(IntentKind.FAILOVER, EAST, loads=loads))
    assert weights(found, "pay") == {"east": 0, "west": 10_000}
    nowhere = service("bare", clusters=(cluster("east"),))
    ground = Ground(fleet=fleet(nowhere), rows={}, loads={})
    assert demands(ground, {}) == []


kinds = st.sampled_from([IntentKind.FAILOVER, IntentKind.DRAIN])


@settings(deadline=None)
@given(
    asked=st.lists(st.tuples(kinds, st.sampled_from(CENTERS)), max_size=5),
    elapsed_s=st.floats(0.0, 90.0),
)
def test_weights_always_sum_and_somebody_always_serves(
    asked: list[tuple[IntentKind, str]], elapsed_s: float
) -> None:
    intents = [
        intent(kind, Target(datacenter=center), number, over_s=60.0)
        for number, (kind, center) in enumerate(asked, 1)
    ]
    found = weights(published(fleet(), *intents, now_s=NOW_S + elapsed_s))
    assert sum(found.values()) == 10_000
    assert all(value >= 0 for value in found.values())


@pytest.mark.parametrize("elapsed_s", [0.0, 10.0, 59.0])
def test_a_drain_never_turns_on_its_way(elapsed_s: float) -> None:
    drain = intent(IntentKind.DRAIN, EAST, over_s=60.0)
    now = weights(published(fleet(), drain, now_s=NOW_S + elapsed_s))
    later = weights(published(fleet(), drain, now_s=NOW_S + elapsed_s + 3.0))
    assert later["east"] <= now["east"]
    assert later["west"] >= now["west"]


def test_a_service_in_one_data_centre_only_is_shut_by_a_failover_of_it() -> None:
    site = fleet(service("shop"), service("lonely", clusters=(cluster("east", 1),)))
    leave = (intent(IntentKind.FAILOVER, EAST, force=True),)
    over = Overlay(fleet=site, intents=leave, now_s=NOW_S)
    assert shut(content(site), over) == {"lonely"}
    assert shut(content(site), Overlay(fleet=site, intents=(), now_s=NOW_S)) == frozenset()
