"""Alerts become at most one intent for each target, and end it as the policy says."""

from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.errors import Refused, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.intents.intent import Ending, IntentKind, Target, Wanted
from controlplane.domain.operations.alert_policies import AlertPolicy, Matcher, Mode
from controlplane.domain.operations.alerts import Alert, AlertStatus, Origin
from controlplane.domain.operations.episodes import Episode
from controlplane.engine.operations import firing
from controlplane.engine.operations.alerts import AlertParts, Alerts, Told
from controlplane.engine.operations.items import Items, Kind, Written, shown
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import ItemStore, OperationStores
from tests.builders import OPERATOR
from tests.engine.operations.desk import MemoryDesk
from tests.engine.rig import Clock
from tests.fakes.operations import memory_operations
from tests.fakes.stores import MemoryStores

BY = Written(author=OPERATOR)
POLICY = AlertPolicy(
    name="leave",
    matchers=(Matcher(label="alertname", value="CenterDown"),),
    order=Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="{datacenter}")),
    most=2,
    per_s=600.0,
    lasts_s=300.0,
)
KIND: Kind[AlertPolicy] = Kind(word="alert-policy", name_of=lambda policy: policy.name, shown=shown)


def alert(number: int = 1, datacenter: str = "east", **changes: object) -> Alert:
    made = Alert(
        origin=Origin.ALERTMANAGER,
        status=AlertStatus.FIRING,
        labels={
            "alertname": "CenterDown",
            "datacenter": datacenter,
            "instance": str(number),
        },
        fingerprint=f"{datacenter}{number}",
        starts_s=0.0,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def over(one: Alert) -> Alert:
    return replace(one, status=AlertStatus.RESOLVED)


@dataclass(slots=True)
class Site:
    """One process; another one over the same stores and desk is its restart."""

    clock: Clock = field(default_factory=Clock)
    stores: MemoryStores = field(default_factory=MemoryStores)
    desk: MemoryDesk | None = None
    kept: OperationStores | None = None
    instruments: Instruments = field(init=False)
    policies: Items[AlertPolicy] = field(init=False)
    alerts: Alerts = field(init=False)
    episodes: ItemStore[Episode] = field(init=False)
    intents: MemoryDesk = field(init=False)

    def __post_init__(self) -> None:
        self.instruments = Instruments(now=self.clock.now)
        self.intents = self.desk or MemoryDesk(self.clock)
        self.kept = kept = self.kept or memory_operations(self.stores.audit, self.stores.outage)
        self.policies = Items(KIND, kept.alert_policies, self.instruments)
        self.episodes = kept.episodes
        parts = AlertParts(policies=self.policies, episodes=kept.episodes, intents=self.intents)
        self.alerts = Alerts(parts, self.instruments)

    @property
    def words(self) -> list[str]:
        return [one.observation.message for one in self.instruments.findings.standing()]


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.policies.put(POLICY, BY)
    return made


async def restarted(site: Site) -> Site:
    again = Site(clock=site.clock, stores=site.stores, desk=site.intents, kept=site.kept)
    await again.policies.restore()
    await again.alerts.restore()
    return again


async def test_an_alert_orders_and_its_end_takes_back(site: Site) -> None:
    assert await site.alerts.take([alert()]) == Told(firing=1)
    ((wanted, author, cause),) = site.intents.orders
    assert (wanted.kind, wanted.target.datacenter) == (IntentKind.FAILOVER, "east")
    assert wanted.expires_s == site.clock.now() + 300.0
    assert (author, cause) == ("policy/leave", "east1")
    assert await site.alerts.take([over(alert())]) == Told(resolved=1)
    assert site.intents.undone == ["failover-1"]
    assert (site.alerts.ordered, site.alerts.received) == (1, 2)
    assert not site.alerts.episodes


async def test_a_storm_is_one_intent_for_each_target(site: Site) -> None:
    for number in range(1_000):
        await site.alerts.take([alert(number, ("east", "west")[number % 2])])
    assert sorted(w.target.datacenter for w, _, _ in site.intents.orders) == ["east", "west"]
    for number in range(998):
        await site.alerts.take([over(alert(number, ("east", "west")[number % 2]))])
    assert not site.intents.undone
    await site.alerts.take([over(alert(998, "east")), over(alert(999, "west"))])
    assert site.intents.undone == ["failover-1", "failover-2"]


async def test_the_rate_limit_stops_a_flapping_alert(site: Site) -> None:
    for _ in range(5):
        await site.alerts.take([alert()])
        await site.alerts.take([over(alert())])
    assert len(site.intents.orders) == 2
    await site.alerts.take([alert()])
    assert "ordered 2 intents within 600 s" in site.words[0]
    site.clock.time_s += 601.0
    await site.alerts.look()
    assert len(site.intents.orders) == 3
    assert not site.words


async def test_what_a_person_undid_stays_undone(site: Site) -> None:
    await site.alerts.take([alert()])
    await site.intents.undo("failover-1", "anna", "no")
    await site.alerts.take([alert(), alert(2)])
    assert len(site.intents.orders) == 1


async def test_one_that_expired_is_asked_for_again_when_its_alert_is_told_again(
    site: Site,
) -> None:
    await site.alerts.take([alert()])
    site.clock.time_s += 300.0
    site.intents.end("failover-1", Ending.EXPIRED)
    site.clock.time_s += 1.0
    await site.alerts.look()
    assert len(site.intents.orders) == 1
    await site.alerts.take([alert()])
    assert len(site.intents.orders) == 2


async def test_another_ones_intent_is_enough(site: Site) -> None:
    await site.intents.make(Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east")))
    await site.alerts.take([alert()])
    assert len(site.intents.orders) == 1
    await site.alerts.take([over(alert())])
    assert not site.intents.undone


async def test_a_refused_order_is_a_finding_and_asked_again_later(site: Site) -> None:
    refusal = Refused("no_room", "no room in west")
    site.intents.refusals = [refusal]
    await site.alerts.take([alert()])
    assert "no room in west" in site.words[0]
    await site.alerts.look()
    assert len(site.intents.orders) == 1
    site.clock.time_s += 10.0
    await site.alerts.look()
    assert len(site.intents.orders) == 2
    assert not site.words


async def test_a_store_that_is_away_is_asked_again_soon(site: Site) -> None:
    away = Retryable("store_unavailable", "away")
    site.intents.refusals = [away, None, away]
    site.stores.outage.away = True
    await site.alerts.take([alert()])
    site.clock.time_s += 1.0
    await site.alerts.look()
    assert site.intents.standing == ["failover-1"]
    await site.alerts.take([over(alert())])
    assert not site.intents.undone
    site.stores.outage.away = False
    await site.alerts.look()
    assert site.intents.undone == ["failover-1"]
    assert await site.episodes.all() == {}


async def test_an_intent_that_ended_meanwhile_needs_no_end(site: Site) -> None:
    await site.alerts.take([alert()])
    site.intents.refusals = [Refused("x", "y")]
    await site.alerts.take([over(alert())])
    assert not site.alerts.episodes


async def test_a_proposal_is_a_finding(site: Site) -> None:
    await site.policies.put(replace(POLICY, mode=Mode.PROPOSE), BY)
    await site.alerts.take([alert()])
    assert not site.intents.orders
    assert "failover of datacenter/east was not ordered" in site.words[0]
    await site.policies.put(POLICY, BY)
    await site.alerts.look()
    assert len(site.intents.orders) == 1


async def test_an_alert_without_a_target_is_a_finding(site: Site) -> None:
    await site.alerts.take([alert(labels={"alertname": "CenterDown"})])
    assert "has no label datacenter" in site.words[0]


async def test_a_restart_orders_nothing_again_and_still_hears_the_end(site: Site) -> None:
    await site.alerts.take([alert(1), alert(2)])
    again = await restarted(site)
    await again.alerts.look()
    await again.alerts.take([alert(1), over(alert(1))])
    assert len(again.intents.orders) == 1
    await again.alerts.take([over(alert(2))])
    assert again.intents.undone == ["failover-1"]


async def test_a_policy_that_is_gone_orders_and_ends_nothing(site: Site) -> None:
    await site.alerts.take([alert()])
    await site.policies.remove("leave", BY)
    await site.alerts.look()
    assert not site.alerts.episodes
    assert site.intents.standing == ["failover-1"]
    again = await restarted(site)
    assert not again.alerts.episodes


STOPPED = Observation(code="metrics_stopped", subject="datacenter/east", message="nothing comes")
ON_FINDINGS = replace(
    POLICY,
    origin=Origin.FINDINGS,
    matchers=(Matcher(label="alertname", value="metrics_stopped"),),
    hold_s=5.0,
)


async def test_our_own_findings_order_after_their_time(site: Site) -> None:
    await site.policies.put(ON_FINDINGS, BY)
    site.instruments.findings.report(Source.METRICS, [STOPPED])
    await site.alerts.look()
    assert not site.intents.orders
    site.clock.time_s += 5.0
    await site.alerts.look()
    assert site.intents.standing == ["failover-1"]
    again = await restarted(site)
    await again.alerts.look()
    assert again.intents.standing == ["failover-1"]
    again.clock.time_s += firing.GRACE_S
    await again.alerts.look()
    assert again.intents.undone == ["failover-1"]


async def test_findings_of_policies_feed_no_policy(site: Site) -> None:
    await site.policies.put(replace(ON_FINDINGS, hold_s=0.0), BY)
    site.instruments.findings.report(Source.ALERTS, [STOPPED], scope="other")
    await site.alerts.look()
    assert not site.intents.orders


async def test_too_many_alerts_are_counted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing, "MOST_ALERTS", 2)
    assert await site.alerts.take([alert(n) for n in range(3)]) == Told(firing=2, dropped=1)
    assert site.alerts.dropped == 1
    assert [one.alert.fingerprint for one in site.alerts.firing] == ["east0", "east1"]


async def test_alerts_that_ask_for_nothing_make_room_for_one_that_does(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "MOST_ALERTS", 2)
    monkeypatch.setattr(firing, "MOST_TEXT", 3_000)
    noise = [alert(n, labels={"alertname": "Noise"}, summary="x" * 900) for n in range(3)]
    assert await site.alerts.take(noise) == Told(firing=2, dropped=1)
    assert await site.alerts.take([alert(7)]) == Told(firing=1)
    assert site.intents.standing == ["failover-1"]
    assert [one.alert.fingerprint for one in site.alerts.firing] == ["east1", "east7"]
    assert await site.alerts.take([alert(8, summary="x" * 2_900)]) == Told(firing=1)
    assert [one.alert.fingerprint for one in site.alerts.firing] == ["east7", "east8"]
    assert await site.alerts.take([alert(9)]) == Told(dropped=1)
    assert site.alerts.dropped == 4


async def test_an_alert_that_fires_again_on_the_way_back_is_acted_on(site: Site) -> None:
    await site.alerts.take([alert()])
    await site.alerts.take([over(alert())])
    site.intents.return_again("failover-1")
    await site.alerts.take([alert()])
    assert len(site.intents.orders) == 2


async def test_an_alert_whose_end_was_lost_is_forgotten(site: Site) -> None:
    await site.alerts.take([alert()])
    site.clock.time_s += firing.FORGET_S + 1.0
    await site.alerts.look()
    assert not site.alerts.firing


async def test_without_a_policy_for_findings_none_is_kept(site: Site) -> None:
    await site.policies.put(replace(ON_FINDINGS, hold_s=0.0), BY)
    site.instruments.findings.report(Source.METRICS, [STOPPED])
    await site.alerts.look()
    assert [one.alert.name for one in site.alerts.firing] == ["metrics_stopped"]
    await site.policies.put(POLICY, BY)
    await site.alerts.look()
    assert not site.alerts.firing
    assert site.intents.undone == ["failover-1"]


async def test_a_freeze_holds_policies_both_ways(site: Site) -> None:
    frozen = await site.intents.make(Wanted(kind=IntentKind.FREEZE))
    await site.alerts.take([alert()])
    assert site.intents.standing == [frozen.id]
    assert "intent freeze-1 of anna says otherwise" in site.words[0]
    await site.intents.undo(frozen.id, "anna", "")
    await site.alerts.look()
    (ordered,) = site.intents.standing
    assert not site.words
    again = await site.intents.make(Wanted(kind=IntentKind.FREEZE))
    await site.alerts.take([over(alert())])
    assert site.intents.standing == [ordered, again.id]
    await site.intents.undo(again.id, "anna", "")
    await site.alerts.look()
    assert site.intents.standing == []


async def test_huge_labels_are_counted_as_too_many(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "MOST_TEXT", 3_000)
    huge = [alert(n, summary="x" * 1_000) for n in range(3)]
    assert await site.alerts.take(huge) == Told(firing=2, dropped=1)
    await site.alerts.take([over(huge[0]), over(huge[1])])
    assert await site.alerts.take([*huge[1:], huge[1]]) == Told(firing=3)
