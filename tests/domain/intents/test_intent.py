"""Intents as records: the table of states, targets and names."""

import pytest

from controlplane.domain import canonical
from controlplane.domain.errors import Conflict
from controlplane.domain.intents.intent import (
    NEXT,
    Admission,
    Ending,
    Intent,
    IntentEvent,
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Row,
    Target,
    Wanted,
    advanced,
    intent_id,
)


def intent(**changes: object) -> Intent:
    wanted = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="dc-east"))
    values: dict[str, object] = {"state": IntentState.PREPARING} | changes
    return Intent(
        id=intent_id(IntentKind.FAILOVER, 7),
        number=7,
        wanted=wanted,
        author="ann",
        created_s=100.0,
        change=7,
        **values,  # type: ignore[arg-type]
    )


def test_it_is_prepared_active_returning_and_ended() -> None:
    active = advanced(intent(published=3), IntentEvent.READY, 101.0, 8)
    assert (active.state, active.active_s, active.change, active.published) == (
        IntentState.ACTIVE,
        101.0,
        8,
        0,
    )
    returning = advanced(active, IntentEvent.UNDO, 102.0, 9)
    assert (returning.state, returning.returning_s, returning.ending) == (
        IntentState.RETURNING,
        102.0,
        Ending.UNDONE,
    )
    assert returning.standing
    ended = advanced(returning, IntentEvent.RETURNED, 103.0, 10)
    assert (ended.state, ended.ended_s, ended.ending) == (
        IntentState.ENDED,
        103.0,
        Ending.UNDONE,
    )
    assert not ended.standing


@pytest.mark.parametrize("state", IntentState)
@pytest.mark.parametrize("event", IntentEvent)
def test_what_is_not_in_the_table_is_a_conflict(state: IntentState, event: IntentEvent) -> None:
    if (state, event) in NEXT:
        assert advanced(intent(state=state), event, 1.0, 8).state is NEXT[state, event]
        return
    with pytest.raises(Conflict) as caught:
        advanced(intent(state=state), event, 1.0, 8)
    assert caught.value.code == "intent_state"


def test_a_target_covers_its_parts_only() -> None:
    center = Target(datacenter="dc-east")
    part = Target(service="shop", datacenter="dc-east", endpoint="10.0.0.1:80")
    assert center.covers(part)
    assert center.covers(center)
    assert not part.covers(center)
    assert not Target(datacenter="dc-west").covers(part)
    assert Target().covers(part)


def test_subjects_name_every_part() -> None:
    assert Target().subject == "fleet"
    assert Target(service="shop", datacenter="dc-east").subject == "service/shop datacenter/dc-east"
    assert intent().subject == "intent/failover-7 datacenter/dc-east"


def test_only_a_preset_moves_nothing() -> None:
    preset = Wanted(kind=IntentKind.PRESET, preset=Preset(name=PresetName.BLOCK))
    one = Intent(id="preset-1", number=1, wanted=preset, author="ann", created_s=1.0, change=1)
    assert not one.moves
    assert intent().moves
    assert (intent().kind, intent().target) == (IntentKind.FAILOVER, Target(datacenter="dc-east"))


def test_it_survives_the_store() -> None:
    one = intent(
        before=(Row(service="shop", source_region="*", weights=(("dc-east", 10_000),)),),
        limits=(
            Admission(
                service="shop",
                preset=Preset(name=PresetName.CIRCUIT_BREAK, concurrent=4, waiting=2),
                part=0.5,
            ),
        ),
    )
    assert canonical.decode(Intent, canonical.encode(one)) == one
