"""Drains of services that keep sessions."""

from dataclasses import replace

import pytest

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target, Wanted
from controlplane.domain.intents.overlay import Overlay, overlaid
from controlplane.domain.intents.sessions import drained
from controlplane.domain.services import Cluster, Endpoint, Service, StickyMode
from controlplane.domain.snapshot import CenterEndpoints, Content
from controlplane.domain.topology import Datacenter, Fleet, Role

EAST = Target(service="web", datacenter="east")
OVER_S = 60.0


def addresses(*ports: int) -> tuple[tuple[str, int], ...]:
    return tuple(("127.0.0.1", port) for port in ports)


def cluster(center: str, *ports: int, name: str = "") -> Cluster:
    return Cluster(
        datacenter=center,
        name=name,
        capacity_rps=100.0,
        endpoints=tuple(Endpoint(address=a, port=p) for a, p in addresses(*ports)),
    )


def site(*clusters: Cluster, stickiness: StickyMode = StickyMode.SESSION) -> Fleet:
    return Fleet(
        datacenters=(
            Datacenter(name="east", role=Role.PRIMARY, region="r"),
            Datacenter(name="west", role=Role.SAME_CITY, region="r"),
        ),
        services=(Service(name="web", clusters=clusters, stickiness=stickiness),),
    )


def intent(
    kind: IntentKind = IntentKind.DRAIN, target: Target = EAST, number: int = 1, **more: object
) -> Intent:
    over_s = OVER_S if kind is IntentKind.DRAIN else 0.0
    values: dict[str, object] = {"state": IntentState.ACTIVE, "active_s": 100.0, **more}
    return Intent(
        id=f"{kind}-{number}",
        number=number,
        change=number,
        wanted=Wanted(kind=kind, target=target, over_s=over_s, return_s=40.0),
        author="ann",
        created_s=100.0,
        **values,  # type: ignore[arg-type]
    )


def published(fleet: Fleet, now_s: float, *intents: Intent) -> Content:
    content = build(fleet, {"web": {"east": 0.5, "west": 0.5}}).content
    return overlaid(content, Overlay(fleet=fleet, intents=intents, now_s=now_s))


def told(content: Content) -> tuple[dict[str, int], dict[str, tuple[tuple[str, int], ...]]]:
    """Weights, and what drains, by data centre and cluster."""
    (row,) = content.weights.weights
    centers = content.endpoints.services[0].centers
    return dict(row.weights), {f"{c.datacenter}{c.cluster}": c.draining for c in centers}


TWO = (cluster("east", 1, 2), cluster("west", 3))


def test_nothing_new_comes_at_once_and_sessions_stay_until_the_deadline() -> None:
    fleet = site(*TWO)
    moved = {"east": 0, "west": 10_000}
    draining = (moved, {"east": addresses(1, 2), "west": ()})
    assert told(published(fleet, 100.0, intent())) == draining
    assert told(published(fleet, 159.9, intent())) == draining
    assert told(published(fleet, 160.0, intent())) == (moved, {"east": (), "west": ()})
    assert published(fleet, 160.0).endpoints == published(fleet, 160.0, intent()).endpoints


def test_where_users_are_hashed_a_drain_is_a_ramp() -> None:
    fleet = site(*TWO, stickiness=StickyMode.HASH)
    weights, draining = told(published(fleet, 130.0, intent()))
    assert 0 < weights["east"] < 5_000
    assert draining == {"east": (), "west": ()}


def test_a_failover_keeps_no_session_even_of_a_drain() -> None:
    both = (intent(), intent(IntentKind.FAILOVER, number=2))
    weights, draining = told(published(site(*TWO), 130.0, *both))
    assert weights == {"east": 0, "west": 10_000}
    assert draining == {"east": (), "west": ()}


@pytest.mark.parametrize(
    "other",
    [
        intent(IntentKind.RESTORE, number=2, active_s=120.0),
        intent(state=IntentState.RETURNING, returning_s=120.0),
    ],
)
def test_what_comes_back_drains_no_more(other: Intent) -> None:
    intents = (other,) if other.number == 1 else (intent(), other)
    weights, draining = told(published(site(*TWO), 140.0, *intents))
    assert weights["east"] > 0
    assert draining == {"east": (), "west": ()}


def test_an_endpoint_drains_where_it_is() -> None:
    target = replace(EAST, endpoint="127.0.0.1:2")
    weights, draining = told(published(site(*TWO), 130.0, intent(target=target)))
    assert weights == {"east": 5_000, "west": 5_000}
    assert draining == {"east": addresses(2), "west": ()}
    content = published(site(*TWO), 160.0, intent(target=target))
    assert content.endpoints.services[0].centers[0].addresses == addresses(1)


def test_the_last_endpoint_of_a_data_centre_drains_as_the_data_centre() -> None:
    fleet = site(cluster("east", 1), cluster("west", 3))
    target = replace(EAST, endpoint="127.0.0.1:1")
    weights, draining = told(published(fleet, 130.0, intent(target=target)))
    assert weights == {"east": 0, "west": 10_000}
    assert draining == {"east": addresses(1), "west": ()}


def test_a_cluster_drains_whole() -> None:
    fleet = site(cluster("east", 1, name="a"), cluster("east", 2, name="b"), cluster("west", 3))
    weights, draining = told(published(fleet, 130.0, intent(target=replace(EAST, cluster="a"))))
    assert weights == {"east": 5_000, "west": 5_000}
    assert draining == {"easta": addresses(1), "eastb": (), "west": ()}


def test_other_services_and_those_that_hash_are_left_alone() -> None:
    web = site(*TWO)
    api = replace(site(*TWO, stickiness=StickyMode.HASH).services[0], name="api")
    fleet = replace(web, services=(api, *web.services))
    shares = {"east": 0.5, "west": 0.5}
    content = build(fleet, {"web": shares, "api": shares}).content
    every = intent(target=Target(datacenter="east"))
    found = overlaid(content, Overlay(fleet=fleet, intents=(every,), now_s=130.0))
    first, second = found.endpoints.services
    assert first == content.endpoints.services[0]
    assert second.centers[0].draining == addresses(1, 2)
    only = overlaid(content, Overlay(fleet=fleet, intents=(intent(),), now_s=130.0))
    assert only.endpoints.services[0] is content.endpoints.services[0]


def test_what_drained_before_drains_on() -> None:
    center = CenterEndpoints(
        datacenter="east", region="r", addresses=addresses(1, 2), draining=addresses(2)
    )
    assert drained(center, addresses(1)).draining == addresses(1, 2)
