"""A clock that is set back makes nothing last longer: ramps, expiries, the way back, gateways."""

from dataclasses import replace

from controlplane.domain.health.picture import Health
from controlplane.domain.intents.intent import Ending, IntentKind, IntentState, Target, Wanted
from controlplane.engine.consumers.seen import Consumers
from controlplane.engine.intents.evacuation import EvacuationRules, Evacuations
from controlplane.engine.intents.intents import Ask
from controlplane.engine.set_back import SetBack
from tests.builders import fleet
from tests.engine.intents.test_evacuation import ALL_NORTH, picture
from tests.engine.rig import Rig

HOUR_S = 3_600.0
NORTH = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="beijing-1"))
ALL_SOUTH = {"beijing-1": 0, "beijing-2": 10_000}


async def rig() -> Rig:
    made = Rig()
    await made.declare(fleet())
    return made


def test_only_what_was_lost_is_told() -> None:
    wall = passed = 1_000.0
    clock = SetBack(lambda: wall, lambda: passed)
    wall, passed = 1_060.0, 1_060.0
    assert clock.since_last_s() == 0.0
    wall, passed = 1_000.0, 1_070.0
    assert clock.since_last_s() == 70.0
    assert clock.since_last_s() == 0.0
    wall, passed = 9_000.0, 1_071.0
    assert clock.since_last_s() == 0.0
    wall, passed = 9_000.5, 1_072.0
    assert clock.since_last_s() == 0.0


async def test_an_expiry_comes_after_as_long_as_it_was_asked_for() -> None:
    made = await rig()
    expires_s = made.clock.now() + 60.0
    intent = await made.intents.create(Ask(wanted=replace(NORTH, expires_s=expires_s), author="a"))
    await made.follow()
    made.clock.time_s -= HOUR_S
    await made.follow()
    made.clock.time_s += 61.0
    await made.follow()
    found = await made.intents.by_id(intent.id)
    assert (found.state, found.ending) == (IntentState.ENDED, Ending.EXPIRED)
    actions = [one.action for one in made.stores.intents.audit.entries]
    assert actions[-3:] == ["intent.set_back", "intent.expire", "intent.returned"]


async def test_a_drain_goes_on_where_it_was() -> None:
    made = await rig()
    wanted = replace(NORTH, kind=IntentKind.DRAIN, over_s=100.0, return_s=100.0)
    drain = await made.intents.create(Ask(wanted=wanted, author="ann"))
    made.clock.time_s += 50.0
    await made.follow()
    half = made.weights()
    made.clock.time_s -= HOUR_S
    await made.follow()
    assert made.weights() == half
    made.clock.time_s += 50.0
    await made.follow()
    assert made.weights() == ALL_SOUTH
    await made.intents.undo(drain.id, "ann")
    made.clock.time_s -= HOUR_S
    await made.follow()
    made.clock.time_s += 101.0
    await made.follow()
    assert made.intents.standing == ()


async def test_what_is_ordered_right_after_the_clock_was_set_back_lasts_as_long_as_asked() -> None:
    made = await rig()
    south = replace(NORTH, kind=IntentKind.FREEZE, target=Target())
    await made.intents.create(Ask(wanted=south, author="ann"))
    made.clock.time_s -= HOUR_S
    now_s = made.clock.now()
    wanted = replace(NORTH, expires_s=now_s + 60.0)
    intent = await made.intents.create(Ask(wanted=wanted, author="ann"))
    await made.follow()
    found = await made.intents.by_id(intent.id)
    assert (found.active_s, found.wanted.expires_s) == (now_s, now_s + 60.0)
    made.clock.time_s -= HOUR_S
    undone = await made.intents.undo(intent.id, "ann")
    assert undone.returning_s == made.clock.now()


async def test_a_clock_that_was_set_back_between_two_processes_is_seen_by_times_to_come() -> None:
    made = await rig()
    expires_s = made.clock.now() + 60.0
    await made.intents.create(Ask(wanted=replace(NORTH, expires_s=expires_s), author="ann"))
    made.clock.time_s -= HOUR_S
    other = await made.restart()
    await other.follow()
    made.clock.time_s += 61.0
    await other.follow()
    assert other.intents.standing == ()


async def test_what_is_well_again_comes_back_after_its_quiet_time() -> None:
    made = await rig()
    shown: list[Health] = [ALL_NORTH]
    rules = EvacuationRules(well_s=60.0)
    evacuations = Evacuations(made.intents, lambda: shown[-1], rules, made.instruments)
    await evacuations.look()
    assert len(made.intents.standing) == 1
    shown.append(picture())
    await evacuations.look()
    made.clock.time_s -= HOUR_S
    await evacuations.look()
    assert made.intents.standing[0].ending is None
    made.clock.time_s += 61.0
    await evacuations.look()
    assert made.intents.standing[0].ending is Ending.UNDONE


def test_a_gateway_that_is_gone_is_not_connected_for_an_hour() -> None:
    consumers = Consumers()
    consumers.seen("edge-1", "edge", 1, 10_000.0)
    assert [one.connected for one in consumers.nodes(10_010.0)] == [True]
    assert [one.connected for one in consumers.nodes(10_000.0 - HOUR_S)] == [False]
