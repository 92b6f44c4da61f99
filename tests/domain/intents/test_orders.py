"""Intents as what health is told of them."""

import pytest

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.health.states import CenterEvent, EndpointEvent
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target, Wanted
from controlplane.domain.intents.orders import orders
from tests.builders import fleet

EAST, WEST = "beijing-1", "beijing-2"
SITE = fleet()
CONTENT = build(SITE, {"tickets": {EAST: 1.0}}).content


def intent(
    kind: IntentKind,
    target: Target,
    number: int = 1,
    over_s: float = 0.0,
    returning_s: float | None = None,
) -> Intent:
    return Intent(
        id=f"{kind}-{number}",
        number=number,
        change=number,
        wanted=Wanted(kind=kind, target=target, over_s=over_s, return_s=100.0),
        author="ann",
        created_s=100.0,
        active_s=100.0,
        state=IntentState.ACTIVE if returning_s is None else IntentState.RETURNING,
        returning_s=returning_s,
    )


@pytest.mark.parametrize(
    ("intents", "event"),
    [
        ((intent(IntentKind.FAILOVER, Target(datacenter=EAST)),), CenterEvent.EVACUATE),
        ((intent(IntentKind.DRAIN, Target(datacenter=EAST), over_s=60.0),), CenterEvent.DRAIN),
        (
            (intent(IntentKind.FAILOVER, Target(datacenter=EAST), returning_s=125.0),),
            CenterEvent.RETURN,
        ),
        (
            (
                intent(IntentKind.FAILOVER, Target(datacenter=EAST)),
                intent(IntentKind.RESTORE, Target(datacenter=EAST), number=2),
            ),
            CenterEvent.RETURN,
        ),
        (
            (
                intent(IntentKind.DRAIN, Target(datacenter=EAST), over_s=60.0),
                intent(IntentKind.FAILOVER, Target(datacenter=EAST), number=2),
            ),
            CenterEvent.EVACUATE,
        ),
        ((intent(IntentKind.FAILOVER, Target(service="tickets", datacenter=EAST)),), None),
        ((intent(IntentKind.PIN, Target(service="tickets")),), None),
        ((), None),
    ],
)
def test_a_data_centre_is_what_the_strictest_intent_does(
    intents: tuple[Intent, ...], event: CenterEvent | None
) -> None:
    found = orders(intents, SITE, CONTENT, 130.0)
    assert found.centers == ({} if event is None else {EAST: event})
    assert found.endpoints == {}


def test_what_is_back_is_no_order() -> None:
    back = intent(IntentKind.FAILOVER, Target(datacenter=EAST), returning_s=110.0)
    assert orders((back,), SITE, CONTENT, 300.0).centers == {}


def test_a_drained_endpoint_is_told() -> None:
    target = Target(service="tickets", datacenter=EAST, endpoint="127.0.0.1:9001")
    found = orders((intent(IntentKind.DRAIN, target),), SITE, CONTENT, 130.0)
    assert [(key.port, event) for key, event in found.endpoints.items()] == [
        (9001, EndpointEvent.DRAINED)
    ]
    assert found.centers == {}


def part(port: int, number: int, center: str = EAST) -> Intent:
    target = Target(service="tickets", datacenter=center, endpoint=f"127.0.0.1:{port}")
    return intent(IntentKind.FAILOVER, target, number)


def test_what_gave_way_to_a_later_word_must_serve() -> None:
    """Somebody has to: the first one does again, and health may not take it out."""
    first, second = (each.port for each in SITE.services[0].clusters[0].endpoints[:2])
    rest = SITE.services[0].clusters[0].endpoints[2:]
    gone = [part(one.port, 10 + place) for place, one in enumerate(rest)]
    away = intent(IntentKind.FAILOVER, Target(datacenter=WEST), 20)
    forced = part(second, 30)
    both = orders((part(first, 1), *gone, forced), SITE, CONTENT, 130.0)
    assert {key.port for key in both.endpoints} == {first, second, *(one.port for one in rest)}
    assert set(both.endpoints.values()) == {EndpointEvent.DRAINED}
    found = orders((part(first, 1), *gone, away, forced), SITE, CONTENT, 130.0)
    said = {key.port: event for key, event in found.endpoints.items()}
    assert said.pop(first) is EndpointEvent.FORCED
    assert said == dict.fromkeys((second, *(one.port for one in rest)), EndpointEvent.DRAINED)
    assert found.centers == {WEST: CenterEvent.EVACUATE}
    turned = (intent(IntentKind.FAILOVER, Target(datacenter=EAST)), away)
    assert orders(turned, SITE, CONTENT, 130.0).centers == {WEST: CenterEvent.EVACUATE}
