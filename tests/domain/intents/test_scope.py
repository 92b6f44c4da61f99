"""Which services an intent is about, what it remembers, and when the next step is due."""

from dataclasses import replace

from controlplane.domain.intents.grounding import grounded, rows_before, unknown
from controlplane.domain.intents.intent import (
    EVERYTHING,
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
)
from controlplane.domain.intents.presence import next_change, returned
from controlplane.domain.intents.scope import holds, spoken_for, touched
from tests.domain.intents.standing_intents import (
    NOW_S,
    cluster,
    content,
    fleet,
    intent,
    published,
    service,
    weights,
)

EAST = Target(datacenter="east")
SITE = fleet(service("shop"), service("lone", clusters=(cluster("west", 7),)))
BLOCK = intent(IntentKind.PRESET, Target(service="shop"), preset=Preset(name=PresetName.BLOCK))


def test_only_what_moves_holds_decisions() -> None:
    assert holds([intent(IntentKind.FAILOVER, EAST)], SITE) == {"shop"}
    both = [intent(IntentKind.FAILOVER, EAST, 1), intent(IntentKind.FREEZE, EVERYTHING, 2)]
    assert holds(both, SITE) == {"shop", "lone"}
    assert holds([BLOCK], SITE) == frozenset()
    assert touched(BLOCK.wanted, content(SITE)) == frozenset()


def test_a_freeze_and_a_restore_are_a_persons_word() -> None:
    freeze = intent(IntentKind.FREEZE, Target(service="shop"))
    assert spoken_for(EAST, [freeze]) is None
    assert spoken_for(Target(service="shop", datacenter="east"), [freeze]) is freeze
    restore = intent(IntentKind.RESTORE, EAST)
    assert spoken_for(EAST, [intent(IntentKind.FAILOVER, EAST), restore]) is restore
    assert spoken_for(EAST, [replace(restore, state=IntentState.ENDED)]) is None


def test_what_is_below_is_what_was_before_the_first() -> None:
    base = content(SITE)
    one = intent(IntentKind.FAILOVER, EAST, 1)
    one = replace(one, before=rows_before(one.wanted, base))
    now = published(SITE, one)
    assert weights(now)["east"] == 0
    second = intent(IntentKind.DRAIN, Target(datacenter="west"), 2)
    later = replace(second, before=rows_before(second.wanted, now))
    assert grounded(now, [later, one]).weights == base.weights
    assert grounded(now, [replace(one, state=IntentState.ENDED)]) is now


def test_services_that_come_later_are_remembered_once() -> None:
    base = content(SITE)
    one = intent(IntentKind.FAILOVER, EAST, 1)
    two = intent(IntentKind.FREEZE, EVERYTHING, 2)
    ended = intent(IntentKind.FREEZE, EVERYTHING, 3, state=IntentState.ENDED)
    found = {each.id: rows for each, rows in unknown([one, two, BLOCK, ended], base)}
    assert [row.service for row in found[one.id]] == ["shop"]
    assert [row.service for row in found[two.id]] == ["lone"]
    known = replace(one, before=rows_before(one.wanted, base))
    assert unknown([known], base) == []


def test_the_next_step_is_that_of_a_ramp_or_an_end() -> None:
    assert next_change([intent(IntentKind.FAILOVER, EAST)], NOW_S) is None
    assert next_change([intent(IntentKind.FREEZE, state=IntentState.ENDED)], NOW_S) is None
    drain = intent(IntentKind.DRAIN, EAST, 1, over_s=60.0, expires_s=NOW_S + 2.0)
    assert next_change([drain], NOW_S) == NOW_S + 2.0
    assert next_change([drain], NOW_S + 3.0) == NOW_S + 2.0
    restore = intent(IntentKind.RESTORE, EAST, 2, return_s=60.0)
    assert next_change([restore], NOW_S + 1.0) == NOW_S + 3.0
    back = intent(
        IntentKind.FAILOVER, EAST, 3, state=IntentState.RETURNING, returning_s=NOW_S, return_s=60.0
    )
    assert next_change([back], NOW_S) == NOW_S + 3.0
    assert not returned(back, NOW_S + 59.0)
    assert returned(back, NOW_S + 60.0)


def test_what_never_moved_is_back_at_once() -> None:
    preparing = intent(
        IntentKind.FAILOVER,
        EAST,
        state=IntentState.RETURNING,
        active_s=None,
        returning_s=NOW_S,
        return_s=60.0,
    )
    assert returned(preparing, NOW_S)
    assert not returned(intent(IntentKind.PIN, EAST), NOW_S)
    assert weights(published(SITE, preparing))["east"] == 6_000


def test_a_drain_that_was_not_begun_takes_nothing() -> None:
    waiting = intent(
        IntentKind.DRAIN, EAST, state=IntentState.PREPARING, active_s=None, over_s=60.0
    )
    assert weights(published(SITE, waiting))["east"] == 6_000
    assert next_change([waiting], NOW_S) is None


def test_before_it_returns_it_is_away() -> None:
    future = intent(IntentKind.FAILOVER, EAST, state=IntentState.RETURNING, returning_s=NOW_S + 5.0)
    assert weights(published(SITE, future))["east"] == 0


def test_a_restore_lifts_what_came_before_it_only() -> None:
    early = intent(IntentKind.FAILOVER, EAST, 1)
    restore = intent(IntentKind.RESTORE, EAST, 2, return_s=0.0)
    late = intent(IntentKind.FAILOVER, EAST, 3)
    assert weights(published(SITE, early, restore))["east"] == 6_000
    assert weights(published(SITE, early, restore, late))["east"] == 0
    elsewhere = intent(IntentKind.RESTORE, Target(datacenter="west"), 2)
    assert weights(published(SITE, early, elsewhere))["east"] == 0
