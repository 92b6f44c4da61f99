"""Episodes: one intent for each target, whatever the number of alerts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.intents.intent import (
    Ending,
    Intent,
    IntentKind,
    IntentState,
    Target,
    Wanted,
)
from controlplane.domain.operations.alert_policies import AlertPolicy, Matcher, Mode, OnResolve
from controlplane.domain.operations.alerts import Alert, AlertStatus, Origin
from controlplane.domain.operations.episodes import (
    MOST_NAMED,
    Ask,
    Episode,
    Heard,
    Step,
    asks_of,
    author_of,
    gathered,
    room_left,
    step_of,
)
from controlplane.domain.operations.listening import listening, match
from tests.domain.operations.made import intent

POLICY = AlertPolicy(
    name="leave",
    matchers=(Matcher(label="alertname", value="Down"),),
    order=Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="{dc}")),
    hold_s=2.0,
    most=2,
    per_s=60.0,
)
WANTED = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east"))
INTENT = intent(WANTED)
EPISODE = Episode(
    target="datacenter/east",
    policy="leave",
    wanted=WANTED,
    began_s=10.0,
    heard_s=10.0,
    alerts=("f1",),
    intent="failover-1",
)


def heard(fingerprint: str = "f1", **labels: str) -> Heard:
    alert = Alert(
        origin=Origin.ALERTMANAGER,
        status=AlertStatus.FIRING,
        labels={"alertname": "Down", "dc": "east"} | labels,
        fingerprint=fingerprint,
        starts_s=0.0,
    )
    return Heard(alert=alert, first_s=5.0, last_s=7.0)


def ask(fingerprint: str = "f1", policy: str = "leave", due_s: float = 0.0) -> Ask:
    return Ask(policy=policy, wanted=WANTED, alert=fingerprint, heard_s=3.0, due_s=due_s)


def ended(ending: Ending, ended_s: float = 20.0) -> Intent:
    return replace(INTENT, state=IntentState.ENDED, ending=ending, ended_s=ended_s)


def returning(ending: Ending, returning_s: float = 20.0) -> Intent:
    return replace(INTENT, state=IntentState.RETURNING, ending=ending, returning_s=returning_s)


def test_an_alert_asks_by_each_policy_that_listens() -> None:
    asks = asks_of(match(listening((POLICY,)), heard().alert), heard())
    assert [(one.policy, one.target, one.heard_s, one.due_s) for one in asks] == [
        ("leave", "datacenter/east", 7.0, 7.0)
    ]


def test_nothing_begins_before_it_is_due() -> None:
    assert gathered([ask(due_s=5.0)], {}, 4.0) == {}
    assert list(gathered([ask(due_s=5.0)], {}, 5.0)) == ["datacenter/east"]


def test_an_episode_goes_on_with_what_is_not_due_yet() -> None:
    before = {"datacenter/east": EPISODE}
    found = gathered([ask("f2", due_s=99.0)], before, 4.0)["datacenter/east"]
    assert found == replace(EPISODE, alerts=("f2",), heard_s=3.0)


def test_the_first_policy_by_name_counts() -> None:
    found = gathered([ask(policy="b"), ask(policy="a")], {}, 4.0)["datacenter/east"]
    assert (found.policy, found.began_s, found.alerts) == ("a", 4.0, ("f1",))


def test_an_episode_stays_with_its_policy_and_its_intent() -> None:
    before = {"datacenter/east": EPISODE}
    stays = gathered([ask(policy="a"), ask(policy="leave")], before, 4.0)["datacenter/east"]
    assert stays.policy == "leave"
    moved = gathered([ask(policy="z")], before, 4.0)["datacenter/east"]
    assert (moved.policy, moved.intent, moved.began_s) == ("z", "failover-1", 10.0)


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=300))
def test_a_storm_on_one_target_is_one_episode(numbers: list[int]) -> None:
    found = gathered([ask(f"f{number}") for number in numbers], {}, 4.0)
    assert len(found) == 1
    assert set(found["datacenter/east"].alerts) == {f"f{number}" for number in numbers}


def test_the_names_of_a_storm_are_bounded() -> None:
    found = gathered([ask(f"f{number}") for number in range(2 * MOST_NAMED)], {}, 4.0)
    assert len(found["datacenter/east"].alerts) == MOST_NAMED


NEW = replace(EPISODE, intent="")
PROPOSING = replace(POLICY, mode=Mode.PROPOSE)
KEEPING = replace(POLICY, on_resolve=OnResolve.KEEP)


@pytest.mark.parametrize(
    ("episode", "policy", "intent", "room", "asked", "step"),
    [
        (NEW, POLICY, None, True, True, Step.ORDER),
        (NEW, POLICY, None, False, True, Step.LIMIT),
        (NEW, PROPOSING, None, True, True, Step.PROPOSE),
        (NEW, None, None, True, True, Step.REST),
        (EPISODE, POLICY, INTENT, True, True, Step.REST),
        # What somebody else has ordered for the target is enough, and not ours to end.
        (NEW, POLICY, INTENT, True, True, Step.REST),
        (NEW, POLICY, INTENT, True, False, Step.CLOSE),
        (EPISODE, POLICY, ended(Ending.UNDONE), True, True, Step.REST),
        (EPISODE, POLICY, ended(Ending.EXPIRED), True, True, Step.REST),
        (EPISODE, POLICY, ended(Ending.EXPIRED, 9.0), True, True, Step.ORDER),
        (EPISODE, POLICY, None, True, True, Step.ORDER),
        (EPISODE, POLICY, returning(Ending.UNDONE), True, True, Step.REST),
        (EPISODE, POLICY, returning(Ending.EXPIRED), True, True, Step.REST),
        (EPISODE, POLICY, returning(Ending.EXPIRED, 9.0), True, True, Step.ORDER),
        (EPISODE, POLICY, returning(Ending.UNDONE), True, False, Step.CLOSE),
        (EPISODE, POLICY, INTENT, True, False, Step.END),
        (EPISODE, KEEPING, INTENT, True, False, Step.CLOSE),
        (EPISODE, None, INTENT, True, False, Step.CLOSE),
        (EPISODE, POLICY, ended(Ending.UNDONE), True, False, Step.CLOSE),
    ],
)
def test_what_is_to_be_done(
    episode: Episode,
    policy: AlertPolicy | None,
    intent: Intent | None,
    room: bool,
    asked: bool,
    step: Step,
) -> None:
    assert step_of(episode, policy, intent, room=room, asked=asked) is step


def test_an_intent_that_expired_without_a_time_stays_ended() -> None:
    odd = replace(ended(Ending.EXPIRED), ended_s=None)
    assert step_of(EPISODE, POLICY, odd, room=True, asked=True) is Step.REST


def test_the_limit_counts_the_policys_own_intents_of_its_span() -> None:
    assert author_of("leave") == INTENT.author
    other = replace(INTENT, author="anna")
    old = replace(INTENT, created_s=-50.0)
    assert room_left(POLICY, [INTENT, other, old], 10.0)
    assert not room_left(POLICY, [INTENT, INTENT], 10.0)
