"""What is refused before an intent is made, and with which words."""

import pytest

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.failover.plan import Plan, plan
from controlplane.domain.intents import rules
from controlplane.domain.intents.demands import Ground, capacities, demands
from controlplane.domain.intents.intent import (
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
    Wanted,
)
from controlplane.domain.intents.overlay import rows_by_service
from controlplane.domain.topology import GatewayGroup
from tests.domain.intents.standing_intents import (
    NOW_S,
    SHARES,
    cluster,
    content,
    fleet,
    intent,
    service,
)

EAST = Target(datacenter="east")
SHOP = Target(service="shop")
BREAK = PresetName.CIRCUIT_BREAK


def wanted(kind: IntentKind, target: Target = EAST, **values: object) -> Wanted:
    return Wanted(kind=kind, target=target, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (wanted(IntentKind.FAILOVER, Target()), "intent_incomplete"),
        (wanted(IntentKind.DRAIN, over_s=-1.0), "intent_time"),
        (wanted(IntentKind.DRAIN, return_s=1e9), "intent_time"),
        (wanted(IntentKind.FAILOVER, expires_s=NOW_S - 1.0), "intent_time"),
        (wanted(IntentKind.FAILOVER, expires_s=float("nan")), "intent_time"),
        (wanted(IntentKind.PIN, Target(), shares=(("east", 1.0),)), "intent_incomplete"),
        (wanted(IntentKind.PIN, SHOP), "intent_incomplete"),
        (wanted(IntentKind.PIN, SHOP, shares=(("east", 0.0),)), "intent_incomplete"),
        (wanted(IntentKind.PIN, SHOP, shares=(("east", -1.0),)), "intent_incomplete"),
        (wanted(IntentKind.PRESET, SHOP), "intent_incomplete"),
        (wanted(IntentKind.PRESET, SHOP, preset=Preset(name=BREAK)), "intent_incomplete"),
        (
            wanted(IntentKind.PRESET, SHOP, preset=Preset(name=PresetName.RATE_LIMIT)),
            "intent_incomplete",
        ),
        (
            wanted(IntentKind.PRESET, SHOP, preset=Preset(name=PresetName.BLOCK, status=200)),
            "intent_incomplete",
        ),
        (wanted(IntentKind.ROLLBACK, Target()), "intent_incomplete"),
        (
            wanted(IntentKind.FAILOVER, Target(datacenter="east", cluster="a")),
            "intent_target",
        ),
    ],
)
def test_what_lacks_something_is_refused(one: Wanted, code: str) -> None:
    with pytest.raises(ControlPlaneError) as caught:
        rules.check_shape(one, NOW_S)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "one",
    [
        wanted(IntentKind.FREEZE, Target()),
        wanted(IntentKind.ROLLBACK, Target(), revision=3),
        wanted(IntentKind.PRESET, SHOP, preset=Preset(name=BREAK, concurrent=1)),
        wanted(IntentKind.PIN, SHOP, shares=(("east", 1.0),), expires_s=NOW_S + 1.0),
    ],
)
def test_what_is_whole_passes(one: Wanted) -> None:
    rules.check_shape(one, NOW_S)
    rules.check_target(one, fleet())


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (wanted(IntentKind.FAILOVER, Target(datacenter="mars")), "datacenter_not_found"),
        (wanted(IntentKind.FREEZE, Target(service="no")), "service_not_found"),
        (
            wanted(IntentKind.FAILOVER, Target(service="lone", datacenter="west")),
            "cluster_not_found",
        ),
        (wanted(IntentKind.PIN, SHOP, shares=(("mars", 1.0),)), "cluster_not_found"),
        (
            wanted(IntentKind.FAILOVER, Target(service="shop", datacenter="east", cluster="no")),
            "intent_target_not_found",
        ),
        (
            wanted(
                IntentKind.FAILOVER,
                Target(service="shop", datacenter="east", endpoint="10.0.0.1:99"),
            ),
            "intent_target_not_found",
        ),
    ],
)
def test_what_is_not_declared_is_not_found(one: Wanted, code: str) -> None:
    site = fleet(service("shop"), service("lone", clusters=(cluster("east", 7),)))
    with pytest.raises(ControlPlaneError) as caught:
        rules.check_target(one, site)
    assert caught.value.code == code


def test_a_declared_part_is_found() -> None:
    target = Target(service="shop", datacenter="east", endpoint="10.0.0.1:2")
    rules.check_target(wanted(IntentKind.FAILOVER, target), fleet())


def test_the_same_does_not_stand_twice() -> None:
    standing = intent(IntentKind.FAILOVER, EAST)
    rules.check_alone(wanted(IntentKind.DRAIN), [standing])
    rules.check_alone(
        wanted(IntentKind.FAILOVER),
        [intent(IntentKind.FAILOVER, EAST, state=IntentState.ENDED)],
    )
    with pytest.raises(ControlPlaneError) as caught:
        rules.check_alone(wanted(IntentKind.FAILOVER), [standing])
    assert caught.value.details["intent"] == standing.id


def test_nothing_to_restore_is_a_conflict() -> None:
    rules.check_restorable(wanted(IntentKind.RESTORE), [intent(IntentKind.DRAIN, EAST)])
    for others in ([], [intent(IntentKind.FREEZE, EAST)]):
        with pytest.raises(ControlPlaneError) as caught:
            rules.check_restorable(wanted(IntentKind.RESTORE), others)
        assert caught.value.code == "nothing_to_restore"


def planned(rate_rps: float | None, *leaving: str) -> Plan:
    site = fleet(service(clusters=(cluster("east", 1), cluster("west", 2))))
    loads = {} if rate_rps is None else {"shop": rate_rps}
    ground = Ground(fleet=site, rows=rows_by_service(content(site)), loads=loads)
    return plan(demands(ground, {"shop": leaving}), capacities(site))


def test_room_is_asked_for_and_numbers_are_told() -> None:
    one = wanted(IntentKind.FAILOVER)
    rules.check_room(one, planned(50.0, "east"))
    short = planned(200.0, "east")
    with pytest.raises(ControlPlaneError) as caught:
        rules.check_room(one, short)
    assert caught.value.code == "no_room"
    assert "shop brings 200 requests/s, 85 have room" in caught.value.message
    assert "west would be at 200%" in caught.value.message
    rules.check_room(one, short, automatic=True)
    rules.check_room(wanted(IntentKind.FAILOVER, force=True), short)


@pytest.mark.parametrize(("rate_rps", "told"), [(50.0, "(50 requests/s)"), (None, "shop; no")])
def test_the_last_one_is_refused_also_for_automation(rate_rps: float | None, told: str) -> None:
    with pytest.raises(ControlPlaneError) as caught:
        rules.check_room(
            wanted(IntentKind.FAILOVER), planned(rate_rps, "east", "west"), automatic=True
        )
    assert caught.value.code == "last_serving_datacenter"
    assert told in caught.value.message
    figures = rules.numbers(planned(rate_rps, "east", "west"))
    assert len(figures["utilization"]) == 2  # type: ignore[arg-type]


def test_long_lists_are_cut() -> None:
    names = [f"s{number}" for number in range(7)]
    site = fleet(*(service(name, clusters=(cluster("east", 1),)) for name in names))
    ground = Ground(fleet=site, rows=rows_by_service(content(site)), loads={})
    made = plan(demands(ground, dict.fromkeys(names, ("east",))), capacities(site))
    with pytest.raises(ControlPlaneError, match="s0, s1, s2, s3, s4 and 2 more"):
        rules.check_room(wanted(IntentKind.FAILOVER), made)


def test_other_listeners_need_force() -> None:
    now = content(fleet())
    site = fleet()
    assert SHARES
    other = type(site)(
        datacenters=site.datacenters,
        services=site.services,
        gateways=(GatewayGroup(name="edge"),),
    )
    earlier = content(other)
    one = wanted(IntentKind.ROLLBACK, Target(), revision=3)
    rules.check_structure(one, now, now)
    with pytest.raises(ControlPlaneError, match="gateways"):
        rules.check_structure(one, now, earlier)
    rules.check_structure(
        wanted(IntentKind.ROLLBACK, Target(), revision=3, force=True), now, earlier
    )
