"""Planned changes: intents in stages, with gates between them, a pause, and a way back.

A state table and what a stage is; `engine.operations.changes` tells the time, applies and undoes.
Whatever a change has made are intents, so to abort it is to undo those that stand, the newest
first: then the same facts give what was published before.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.errors import Conflict, Invalid
from controlplane.domain.intents.intent import Wanted
from controlplane.domain.operations.alert_policies import NAME_RULE
from controlplane.domain.operations.change_gates import OPEN, Gate, Reading, excess_of, unknown_of
from controlplane.domain.operations.scenarios import MOST_ORDERS, problem_of
from controlplane.domain.state_table import state_after

MOST_STAGES = 50
LONGEST_HOLD_S = 30 * 86_400.0


class ChangeState(StrEnum):
    """How far it is; the last two are final.

    `aborting`: its intents are being undone.
    """

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    ABORTING = "aborting"
    ABORTED = "aborted"
    DONE = "done"


class ChangeEvent(StrEnum):
    """What happens to it."""

    START = "start"
    ADVANCE = "advance"
    SKIP = "skip"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    ABORTED = "aborted"
    FINISH = "finish"


NEXT: Mapping[tuple[ChangeState, ChangeEvent], ChangeState] = {
    (ChangeState.PLANNED, ChangeEvent.START): ChangeState.RUNNING,
    (ChangeState.PLANNED, ChangeEvent.ABORT): ChangeState.ABORTING,
    (ChangeState.RUNNING, ChangeEvent.ADVANCE): ChangeState.RUNNING,
    (ChangeState.RUNNING, ChangeEvent.PAUSE): ChangeState.PAUSED,
    (ChangeState.RUNNING, ChangeEvent.ABORT): ChangeState.ABORTING,
    (ChangeState.RUNNING, ChangeEvent.FINISH): ChangeState.DONE,
    (ChangeState.PAUSED, ChangeEvent.RESUME): ChangeState.RUNNING,
    # By hand, past a gate that holds.
    (ChangeState.PAUSED, ChangeEvent.ADVANCE): ChangeState.RUNNING,
    # By hand, without what the newest stage could not do.
    (ChangeState.PAUSED, ChangeEvent.SKIP): ChangeState.RUNNING,
    (ChangeState.PAUSED, ChangeEvent.ABORT): ChangeState.ABORTING,
    (ChangeState.ABORTING, ChangeEvent.ABORTED): ChangeState.ABORTED,
}
FINAL = frozenset({ChangeState.ABORTED, ChangeState.DONE})


class OnExcess(StrEnum):
    """What becomes of a change when a gate's limit is passed."""

    PAUSE = "pause"
    ABORT = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step.

    Attributes:
        orders: intents that it makes.
        undoes: numbers of earlier stages (from 0) whose intents it undoes, before its own orders.
        hold_s: it lasts at least so long; None waits for an operator.
        gate: of the whole stage: passed at any time the change pauses or aborts, unknown at its
            end the change holds.
    """

    title: str
    orders: tuple[Wanted, ...] = ()
    undoes: tuple[int, ...] = ()
    hold_s: float | None = None
    gate: Gate = OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A planned change.

    Attributes:
        starts_s: by itself at this time, UTC epoch seconds; None waits for an operator.
        stage: number of the stage that was begun last; -1 is none.
        stage_s: when that was; entered: whether all that the stage asks for was asked.
        intents: of each begun stage, ids in the order in which they were made.
        words: why it pauses, holds or was aborted.
    """

    name: str
    title: str
    stages: tuple[Stage, ...]
    author: str
    created_s: float
    reason: str = ""
    starts_s: float | None = None
    on_excess: OnExcess = OnExcess.PAUSE
    state: ChangeState = ChangeState.PLANNED
    stage: int = -1
    stage_s: float = 0.0
    entered: bool = False
    intents: tuple[tuple[str, ...], ...] = ()
    words: str = ""
    ended_s: float | None = None

    @property
    def final(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.state in FINAL

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"change/{self.name}"

    @property
    def services(self) -> frozenset[str]:
        """Services that it names; () is all of them, also when one order is about no single one."""
        named = {order.target.service for stage in self.stages for order in stage.orders}
        return frozenset() if "" in named else frozenset(named)

    @property
    def made(self) -> tuple[str, ...]:
        """Every intent that it made, the newest first."""
        return tuple(reversed([one for stage in self.intents for one in stage]))


class Word(StrEnum):
    """What is to be done with a running change."""

    WAIT = "wait"
    HOLD = "hold"
    STEP = "step"
    FINISH = "finish"
    EXCESS = "excess"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be done, and why."""

    word: Word
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known while a stage runs.

    Attributes:
        readings: of every service and data centre that bears traffic of the change.
        behind: what does not run the stage yet, in words; "" when everything does.
        fresh_s: older metrics are missing.
    """

    readings: tuple[Reading, ...] = ()
    behind: str = ""
    fresh_s: float = 120.0


def advanced(change: Change, event: ChangeEvent, now_s: float, words: str = "") -> Change:
    """The change after an event; `START`, `ADVANCE` and `SKIP` begin the next stage.

    Raises:
        Conflict: the event cannot happen in the change's state, or would leave out an order.
    """
    state = state_after("change_state", NEXT, change.state, event, ("change", change.name))
    if event in (ChangeEvent.START, ChangeEvent.ADVANCE, ChangeEvent.SKIP):
        if problem := _kept_from_next(change, event):
            raise Conflict("change_state", f"change {change.name} {problem}")
        return replace(
            change,
            state=state,
            stage=change.stage + 1,
            stage_s=now_s,
            entered=False,
            intents=(*change.intents, ()),
            words=words,
        )
    return replace(change, state=state, words=words, ended_s=now_s if state in FINAL else None)


def _kept_from_next(change: Change, event: ChangeEvent) -> str:
    """Why the next stage cannot begin; "" when it can."""
    if event is ChangeEvent.ADVANCE and not change.entered:
        title = change.stages[change.stage].title
        return (
            f"has not carried out its stage {change.stage} ({title}): {change.words}; resume asks "
            "for it again, abort takes back what was made, skip begins the next stage without it"
        )
    last = change.stage + 1 >= len(change.stages)
    return "is at its last stage: there is no next one" if last else ""


def with_intent(change: Change, intent: str) -> Change:
    """The change, its newest stage having made one more intent."""
    *earlier, last = change.intents
    return replace(change, intents=(*earlier, (*last, intent)))


def verdict(change: Change, seen: Seen, now_s: float) -> Verdict:
    """Whether the next stage may follow; for a running change that has entered its stage."""
    stage = change.stages[change.stage]
    age_s = now_s - change.stage_s
    if excess := excess_of(stage.gate, seen.readings):
        return Verdict(word=Word.EXCESS, reason=excess)
    if stage.hold_s is None:
        return Verdict(word=Word.WAIT, reason="the stage waits for an operator")
    if age_s < stage.hold_s:
        return Verdict(word=Word.WAIT, reason=f"the stage lasts at least {stage.hold_s:g} s")
    if seen.behind:
        return Verdict(word=Word.WAIT, reason=seen.behind)
    if unknown := unknown_of(stage.gate, seen.readings, seen.fresh_s):
        late = age_s >= stage.hold_s + seen.fresh_s
        return Verdict(word=Word.HOLD if late else Word.WAIT, reason=unknown)
    if change.stage + 1 == len(change.stages):
        return Verdict(word=Word.FINISH, reason="the last stage is passed")
    return Verdict(word=Word.STEP, reason="every gate is passed")


def checked(change: Change) -> Change:
    """The change; Invalid names the first thing that is wrong with it."""
    if not re.fullmatch(NAME_RULE, change.name):
        raise _invalid(change, f"its name must fit {NAME_RULE}")
    if not 1 <= len(change.stages) <= MOST_STAGES:
        raise _invalid(change, f"it has {len(change.stages)} stages, it may have 1..{MOST_STAGES}")
    for number, stage in enumerate(change.stages):
        for words in _wrong(stage, number):
            raise _invalid(change, f"stage {number}: {words}")
    return change


def _wrong(stage: Stage, number: int) -> Iterable[str]:
    if len(stage.orders) > MOST_ORDERS:
        yield f"it has {len(stage.orders)} orders, it may have {MOST_ORDERS}"
    if problem := problem_of(stage.orders):
        yield problem
    if any(not 0 <= earlier < number for earlier in stage.undoes):
        yield f"it undoes {list(stage.undoes)}; it may undo earlier stages, counted from 0"
    if stage.hold_s is not None and not 0 <= stage.hold_s <= LONGEST_HOLD_S:
        yield f"hold_s must be within 0..{LONGEST_HOLD_S:g}, or none to wait for an operator"
    yield from _wrong_limits(stage.gate)


def _wrong_limits(gate: Gate) -> Iterable[str]:
    if gate.most_error_ratio is not None and not 0 <= gate.most_error_ratio <= 1:
        yield "most_error_ratio must be within 0..1"
    for name in ("most_response_time_ms", "most_utilization"):
        value = getattr(gate, name)
        if value is not None and not value > 0:
            yield f"{name} must be above 0"


def undone_by(change: Change) -> Sequence[str]:
    """Intents of earlier stages that the newest stage undoes, the newest first."""
    stage = change.stages[change.stage]
    made = [one for number in sorted(stage.undoes) for one in change.intents[number]]
    return tuple(reversed(made))


def _invalid(change: Change, words: str) -> Invalid:
    return Invalid("change_invalid", f"change {change.name[:80]}: {words}")
