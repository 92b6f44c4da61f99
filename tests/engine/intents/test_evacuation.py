"""Automatic evacuation: what health calls down loses its traffic, within the rules."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Refused
from controlplane.domain.findings import Source
from controlplane.domain.health.picture import CenterHealth, Health, Place, ServiceHealth
from controlplane.domain.health.states import CenterState
from controlplane.domain.intents.intent import Ending, IntentKind, IntentState, Target, Wanted
from controlplane.domain.services import AllDown
from controlplane.engine.intents.evacuation import (
    RECOVERY_S,
    SCOPE,
    EvacuationRules,
    Evacuations,
    Failback,
)
from controlplane.engine.intents.intents import Ask
from tests.builders import fleet, sample, service
from tests.engine.rig import Rig

NORTH, SOUTH = "beijing-1", "beijing-2"


def picture(*down: tuple[str, str], whole: tuple[str, ...] = (), held: bool = False) -> Health:
    """Services (name, data centre) that are down, and data centres that are down as a whole."""
    services = {
        name: ServiceHealth(
            service=name,
            places=tuple(
                Place(
                    datacenter=center,
                    clusters=(),
                    usable_share=0.0 if (name, center) in down else 1.0,
                    down=(name, center) in down,
                    since_s=0.0,
                )
                for center in (NORTH, SOUTH)
            ),
            policy=AllDown.HOLD,
        )
        for name in ("tickets", "video")
    }
    centers = {
        center: CenterHealth(
            datacenter=center,
            state=CenterState.DEGRADED,
            down=center in whole,
            down_services=(),
            since_s=0.0,
        )
        for center in (NORTH, SOUTH)
    }
    return Health(services=services, centers=centers, held=held)


ALL_NORTH = picture(("tickets", NORTH), ("video", NORTH), whole=(NORTH,))


class Site:
    """A rig with two services, and health as the test says."""

    def __init__(self, rules: EvacuationRules) -> None:
        self.rig = Rig()
        self.rig.intents.most_centers = rules.most_centers
        self.health = picture()
        self.evacuations = Evacuations(
            self.rig.intents, lambda: self.health, rules, self.rig.instruments
        )

    def show(self, health: Health) -> None:
        """A new picture."""
        self.health = replace(health, number=self.health.number + 1)

    async def look(self, health: Health | None = None) -> None:
        self.show(health or self.health)
        await self.evacuations.look()
        await self.rig.follow()

    @property
    def codes(self) -> list[str]:
        return [one.observation.code for one in self.rig.findings.standing()]


async def site(rules: EvacuationRules | None = None) -> Site:
    made = Site(rules or EvacuationRules())
    await made.rig.declare(fleet(service("tickets"), service("video")))
    return made


async def test_what_is_down_is_left_and_comes_back_when_it_has_been_well() -> None:
    made = await site()
    before = made.rig.weights()
    await made.look(ALL_NORTH)
    await made.look()
    (intent,) = made.rig.intents.standing
    assert (intent.author, intent.target) == ("health", Target(datacenter=NORTH))
    assert made.rig.weights() == {NORTH: 0, SOUTH: 10_000}
    await made.look(picture())
    made.rig.clock.time_s += 30.0
    await made.look(ALL_NORTH)
    await made.look(picture())
    made.rig.clock.time_s += 59.0
    await made.look()
    assert made.rig.weights() == {NORTH: 0, SOUTH: 10_000}
    made.rig.clock.time_s += 2.0
    await made.look()
    assert 0 < made.rig.weights()[NORTH] < before[NORTH]
    made.rig.clock.time_s += 61.0
    await made.look()
    assert made.rig.weights() == before
    assert (await made.rig.intents.by_id(intent.id)).ending is Ending.UNDONE


async def test_one_service_of_a_data_centre_moves_alone() -> None:
    made = await site()
    await made.look(picture(("video", NORTH)))
    assert made.rig.weights("video")[NORTH] == 0
    assert made.rig.weights("tickets")[NORTH] > 0
    await made.look(picture(("video", NORTH), ("tickets", NORTH)))
    assert made.rig.weights("tickets")[NORTH] == 0


async def test_a_second_data_centre_is_a_finding_and_not_an_evacuation() -> None:
    made = await site()
    await made.look(picture(("video", NORTH)))
    await made.look(picture(("video", NORTH), ("tickets", SOUTH)))
    assert made.rig.weights("tickets")[SOUTH] > 0
    assert made.codes == ["evacuation_held"]
    await made.look(picture())
    assert made.codes == []


async def ordered(made: Site, author: str, center: str) -> None:
    wanted = Wanted(kind=IntentKind.FAILOVER, target=Target(service="tickets", datacenter=center))
    await made.rig.intents.create(Ask(wanted=wanted, author=author, automatic="/" in author))
    await made.rig.follow()


async def test_what_an_alert_policy_has_left_counts_too() -> None:
    made = await site()
    await ordered(made, "policy/leave", SOUTH)
    await made.look(picture(("video", NORTH)))
    assert made.rig.weights("video")[NORTH] > 0
    assert made.codes == ["evacuation_held"]
    (found,) = made.rig.findings.standing()
    assert f"taken traffic from {SOUTH} already" in found.observation.message


async def test_an_alert_policy_may_not_leave_a_second_one_after_health_but_the_same() -> None:
    made = await site()
    await made.look(picture(("video", NORTH)))
    with pytest.raises(Refused, match=f"taken traffic from {NORTH} already") as caught:
        await ordered(made, "policy/leave", SOUTH)
    assert caught.value.code == "automation_limit"
    assert caught.value.details == {"datacenters": [NORTH], "most": 1}
    await ordered(made, "policy/leave", NORTH)
    assert made.rig.weights("tickets")[NORTH] == 0


async def test_what_a_person_has_left_does_not_count() -> None:
    made = await site()
    await ordered(made, "ann", SOUTH)
    await made.look(picture(("video", NORTH)))
    assert made.rig.weights("video")[NORTH] == 0


async def test_without_news_it_is_looked_again_after_a_while() -> None:
    made = await site()
    await made.look(picture(("video", NORTH)))
    await made.look(picture(("video", NORTH), ("tickets", SOUTH)))
    made.rig.findings.report(Source.INTENTS, [], scope=SCOPE)
    await made.evacuations.look()
    assert made.codes == []
    made.rig.clock.time_s += 1.0
    await made.evacuations.look()
    assert made.codes == ["evacuation_held"]


async def test_the_last_one_is_never_left_by_automation() -> None:
    made = await site(EvacuationRules(most_centers=2))
    await made.look(picture(("video", NORTH)))
    await made.look(picture(("video", NORTH), ("video", SOUTH)))
    assert made.codes == ["evacuation_held"]
    assert made.rig.weights("video") == {NORTH: 0, SOUTH: 10_000}


async def test_nothing_moves_while_observers_cannot_be_believed() -> None:
    made = await site()
    await made.look(replace(ALL_NORTH, held=True))
    assert made.rig.intents.standing == ()


async def test_a_persons_word_stands() -> None:
    made = await site()
    freeze = Wanted(kind=IntentKind.FREEZE)
    await made.rig.intents.create(Ask(wanted=freeze, author="ann"))
    await made.look(ALL_NORTH)
    assert [one.kind for one in made.rig.intents.standing] == [IntentKind.FREEZE]
    assert made.codes == ["evacuation_held"]


async def test_a_freeze_keeps_it_from_coming_back() -> None:
    made = await site()
    await made.look(ALL_NORTH)
    await made.rig.intents.create(Ask(wanted=Wanted(kind=IntentKind.FREEZE), author="ann"))
    await made.look(picture())
    made.rig.clock.time_s += 61.0
    await made.look()
    assert made.rig.weights() == {NORTH: 0, SOUTH: 10_000}


async def test_by_hand_it_only_says_that_it_is_well() -> None:
    made = await site(EvacuationRules(failback=Failback.MANUAL))
    await made.look(ALL_NORTH)
    await made.look(picture())
    made.rig.clock.time_s += 600.0
    await made.look()
    assert made.rig.weights() == {NORTH: 0, SOUTH: 10_000}
    assert made.codes == ["failback_waiting"]


async def test_without_room_it_limits_first_and_goes_all_the_same() -> None:
    made = await site()
    for center in (NORTH, SOUTH):
        one = sample(center, made.rig.clock.now(), request_rate_rps=60.0)
        await made.rig.intake.accept([one])
    made.show(picture(("tickets", NORTH)))
    await made.evacuations.look()
    (intent,) = made.rig.intents.standing
    assert intent.state is IntentState.PREPARING
    assert intent.limits
    await made.rig.follow()
    assert made.rig.weights()[NORTH] == 0


async def test_a_store_that_is_away_stops_only_the_way_back() -> None:
    made = await site()
    made.rig.stores.outage.away = True
    made.show(ALL_NORTH)
    await made.evacuations.look()
    await made.rig.loop.tick(await made.rig.pokes.take())
    assert made.rig.weights() == {NORTH: 0, SOUTH: 10_000}
    made.show(picture())
    await made.evacuations.look()
    made.rig.clock.time_s += 61.0
    await made.evacuations.look()
    assert made.rig.intents.standing[0].ending is None
    made.rig.stores.outage.away = False
    await made.rig.follow()
    await made.look()
    assert made.rig.intents.standing[0].ending is Ending.UNDONE


async def test_what_comes_back_last_after_all_were_down_is_not_evacuated() -> None:
    made = await site()
    await made.look(DARK)
    await made.look(ALL_NORTH)
    assert made.rig.intents.standing == ()
    await made.look(picture())
    made.rig.clock.time_s += RECOVERY_S - 1.0
    await made.look(picture(("tickets", NORTH)))
    assert made.rig.intents.standing == ()
    made.rig.clock.time_s += 2.0
    await made.look()
    assert [one.target.service for one in made.rig.intents.standing] == ["tickets"]


DARK = replace(
    picture(),
    services={name: replace(one, all_down=True) for name, one in picture().services.items()},
)


async def test_an_evacuation_right_before_all_looked_dead_is_taken_back_at_once() -> None:
    made = await site()
    before = made.rig.weights()
    await made.look(ALL_NORTH)
    assert made.rig.weights()[NORTH] == 0
    made.rig.clock.time_s += 1.0
    await made.look(DARK)
    assert made.rig.weights() == before
    assert made.rig.intents.standing == ()


async def test_an_evacuation_of_long_ago_stays_when_all_look_dead() -> None:
    made = await site()
    await made.look(ALL_NORTH)
    made.rig.clock.time_s += RECOVERY_S
    await made.look(DARK)
    assert made.rig.weights()[NORTH] == 0
