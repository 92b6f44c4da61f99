"""Waiting rooms of intents: policies that gateways read, for as long as the intents stand."""

from dataclasses import replace

import pytest

from controlplane.domain import canonical
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.section import received
from controlplane.domain.intents.intent import (
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
)
from controlplane.domain.snapshot import Content
from tests.domain.intents.standing_intents import content, fleet, intent, published

SHOP = Target(service="shop")


def room(**values: int) -> Preset:
    return Preset(name=PresetName.WAITING_ROOM, **values)  # type: ignore[arg-type]


def read(found: Content) -> tuple[Policy, ...]:
    """What a gateway makes of it."""
    section = received(canonical.encode(found.admission))
    assert section.unreadable == ()
    return section.policies


@pytest.mark.parametrize(
    ("wanted", "sizes"),
    [
        (room(), (10, 10_000, 100_000)),
        (room(concurrent=50, waiting=0), (50, 10_000, 0)),
        (room(concurrent=1_000_000), (1_000_000, 1_000_000, 100_000)),
    ],
)
def test_a_room_is_a_policy_of_the_service(wanted: Preset, sizes: tuple[int, int, int]) -> None:
    (policy,) = read(published(fleet(), intent(IntentKind.PRESET, SHOP, 7, preset=wanted)))
    queue = policy.session_queue
    assert queue is not None
    assert (queue.initial_size, queue.most_size, queue.most_waiting) == sizes
    assert (policy.name, policy.attachment.services) == ("preset-7-waiting-room", ("shop",))


def test_it_stands_beside_declared_ones_and_limits_no_requests() -> None:
    site = replace(fleet(), policies=(Policy(name="z", protection=ProtectionPolicy()),))
    found = published(site, intent(IntentKind.PRESET, SHOP, preset=room(concurrent=5)))
    assert [one.name for one in found.admission.policies] == ["preset-1-waiting-room", "z"]
    assert [one.limit for one in found.endpoints.services] == [None]


def test_without_it_the_content_is_what_it_was() -> None:
    over = intent(
        IntentKind.PRESET, SHOP, preset=room(), state=IntentState.RETURNING, returning_s=1_001.0
    )
    assert published(fleet(), over) == content(fleet())
