"""Planned changes: the state table, gates between stages, and what no change may be."""

import itertools
from dataclasses import replace

import pytest

from controlplane.domain.canonical import decode, encode
from controlplane.domain.errors import Conflict, Invalid
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.change_gates import Gate, Reading
from controlplane.domain.operations.changes import (
    NEXT,
    Change,
    ChangeEvent,
    ChangeState,
    Seen,
    Stage,
    Word,
    advanced,
    checked,
    undone_by,
    verdict,
    with_intent,
)

DRAIN = Wanted(kind=IntentKind.DRAIN, target=Target(datacenter="east", service="shop"))
GATE = Gate(most_error_ratio=0.01, most_response_time_ms=100.0, most_utilization=0.9)
CHANGE = Change(
    name="move",
    title="Move",
    stages=(
        Stage(title="drain", orders=(DRAIN,), hold_s=10.0, gate=GATE),
        Stage(title="work", hold_s=None),
        Stage(title="back", undoes=(0,), hold_s=0.0),
    ),
    author="anna",
    created_s=0.0,
)
GOOD = Reading(
    service="shop",
    datacenter="west",
    age_s=1.0,
    error_ratio=0.0,
    response_time_ms=20.0,
    utilization=0.5,
)


def started() -> Change:
    return advanced(CHANGE, ChangeEvent.START, 100.0)


def test_a_whole_change() -> None:
    first = started()
    assert (first.state, first.stage, first.stage_s) == (ChangeState.RUNNING, 0, 100.0)
    first = with_intent(with_intent(first, "drain-1"), "drain-2")
    second = advanced(replace(first, entered=True), ChangeEvent.ADVANCE, 111.0)
    last = advanced(replace(second, entered=True), ChangeEvent.ADVANCE, 120.0)
    assert undone_by(last) == ("drain-2", "drain-1")
    last = with_intent(last, "pin-3")
    assert last.made == ("pin-3", "drain-2", "drain-1")
    done = advanced(last, ChangeEvent.FINISH, 130.0)
    assert (done.final, done.ended_s) == (True, 130.0)
    assert decode(Change, encode(done)) == done
    assert (done.subject, done.services) == ("change/move", {"shop"})


def test_an_abort_has_two_steps() -> None:
    aborting = advanced(started(), ChangeEvent.ABORT, 101.0, "stop it")
    assert (aborting.state, aborting.final, aborting.words) == (
        ChangeState.ABORTING,
        False,
        "stop it",
    )
    assert advanced(aborting, ChangeEvent.ABORTED, 102.0).final


def test_there_is_no_stage_after_the_last() -> None:
    last = replace(started(), stage=2, entered=True)
    with pytest.raises(Conflict, match="at its last stage"):
        advanced(last, ChangeEvent.ADVANCE, 1.0)


def test_a_stage_that_was_not_carried_out_is_passed_by_a_skip_only() -> None:
    paused = advanced(started(), ChangeEvent.PAUSE, 101.0, "no room")
    with pytest.raises(Conflict, match=r"its stage 0 \(drain\): no room; resume asks"):
        advanced(paused, ChangeEvent.ADVANCE, 102.0)
    assert advanced(paused, ChangeEvent.SKIP, 102.0).stage == 1


@pytest.mark.parametrize(("state", "event"), list(itertools.product(ChangeState, ChangeEvent)))
def test_every_other_step_is_refused(state: ChangeState, event: ChangeEvent) -> None:
    change = replace(CHANGE, state=state, entered=True)
    if (state, event) in NEXT:
        assert advanced(change, event, 1.0).state is NEXT[state, event]
    else:
        with pytest.raises(Conflict, match=f"is {state}"):
            advanced(change, event, 1.0)


@pytest.mark.parametrize(
    ("seen", "now_s", "word", "reason"),
    [
        (Seen(readings=(GOOD,)), 109.0, Word.WAIT, "at least 10 s"),
        (Seen(readings=(GOOD,)), 110.0, Word.STEP, "every gate"),
        (Seen(readings=(GOOD,), behind="envoy"), 110.0, Word.WAIT, "envoy"),
        (Seen(), 110.0, Word.WAIT, "bears traffic"),
        (Seen(), 230.0, Word.HOLD, "bears traffic"),
        (Seen(readings=(replace(GOOD, age_s=200.0),)), 230.0, Word.HOLD, "no metrics"),
        (
            Seen(readings=(replace(GOOD, utilization=float("nan")),)),
            230.0,
            Word.HOLD,
            "does not report its utilization",
        ),
        (Seen(readings=(replace(GOOD, error_ratio=0.02),)), 101.0, Word.EXCESS, "error ratio"),
        (Seen(readings=(replace(GOOD, utilization=1.2),)), 101.0, Word.EXCESS, "allows 0.9"),
    ],
)
def test_verdicts(seen: Seen, now_s: float, word: Word, reason: str) -> None:
    found = verdict(started(), seen, now_s)
    assert found.word is word
    assert reason in found.reason


def test_a_stage_may_wait_for_an_operator_or_be_the_last() -> None:
    second = replace(started(), stage=1)
    assert verdict(second, Seen(), 1e9).word is Word.WAIT
    assert verdict(replace(second, stage=2), Seen(), 100.0).word is Word.FINISH


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "A"}, "its name must fit"),
        ({"stages": ()}, "it may have 1..50"),
        ({"stages": (Stage(title="x", orders=(DRAIN,) * 51),)}, "stage 0: it has 51 orders"),
        ({"stages": (Stage(title="x", orders=(DRAIN, DRAIN)),)}, "twice"),
        ({"stages": (Stage(title="x", undoes=(0,)),)}, "earlier stages"),
        ({"stages": (Stage(title="x", hold_s=-1.0),)}, "hold_s"),
        ({"stages": (Stage(title="x", gate=Gate(most_error_ratio=2.0)),)}, "most_error_ratio"),
        ({"stages": (Stage(title="x", gate=Gate(most_utilization=0.0)),)}, "most_utilization"),
    ],
)
def test_what_no_change_may_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        checked(replace(CHANGE, **changes))  # type: ignore[arg-type]


def test_a_sound_change_is_itself() -> None:
    assert checked(CHANGE) is CHANGE


def test_a_change_with_an_order_about_every_service_is_about_all() -> None:
    drain = Wanted(kind=IntentKind.DRAIN, target=Target(datacenter="west"))
    mixed = replace(CHANGE, stages=(*CHANGE.stages, Stage(title="leave", orders=(drain,))))
    assert (CHANGE.services, mixed.services) == ({"shop"}, frozenset())
