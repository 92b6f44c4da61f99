"""An intent: what somebody asked for against the scheduler, as a record with a state table.

Made by operators, by health (an automatic evacuation) and by alert policies;
`engine.intents.intents` moves them along, the store keeps them. An intent is only put over what is
declared and decided: without it, the same facts give what was published before. Must never hold
what it changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.state_table import state_after


class IntentKind(StrEnum):
    """What is asked.

    `failover` takes traffic away at once and `drain` over `over_s`; `restore` brings back what
    either of them took; `pin` gives a service a fixed split; `freeze` stops automatic changes;
    `preset` limits a service; `rollback` publishes an earlier revision.
    """

    FAILOVER = "failover"
    DRAIN = "drain"
    RESTORE = "restore"
    PIN = "pin"
    FREEZE = "freeze"
    PRESET = "preset"
    ROLLBACK = "rollback"


class PresetName(StrEnum):
    """Limits of a service that are ready for the night: what its callers get instead."""

    RATE_LIMIT = "rate_limit"
    CIRCUIT_BREAK = "circuit_break"
    BLOCK = "block"
    WAITING_ROOM = "waiting_room"


class IntentState(StrEnum):
    """How far it is; only the last is final.

    `preparing`: the survivors' admission is being tightened, no traffic has moved yet.
    `returning`: it is taken back step by step.
    """

    PREPARING = "preparing"
    ACTIVE = "active"
    RETURNING = "returning"
    ENDED = "ended"


class IntentEvent(StrEnum):
    """What happens to an intent."""

    READY = "ready"
    UNDO = "undo"
    EXPIRE = "expire"
    REPLACE = "replace"
    RETURNED = "returned"
    DONE = "done"


class Ending(StrEnum):
    """Why it ended, or is being taken back; `replaced` by a restore, which is then `done`."""

    UNDONE = "undone"
    EXPIRED = "expired"
    REPLACED = "replaced"
    DONE = "done"


NEXT: Mapping[tuple[IntentState, IntentEvent], IntentState] = {
    (IntentState.PREPARING, IntentEvent.READY): IntentState.ACTIVE,
    (IntentState.PREPARING, IntentEvent.UNDO): IntentState.RETURNING,
    (IntentState.PREPARING, IntentEvent.EXPIRE): IntentState.RETURNING,
    (IntentState.ACTIVE, IntentEvent.UNDO): IntentState.RETURNING,
    (IntentState.ACTIVE, IntentEvent.EXPIRE): IntentState.RETURNING,
    # Even what is taken back at once returns first: the record ends when that is published.
    (IntentState.RETURNING, IntentEvent.RETURNED): IntentState.ENDED,
    # What a restore brings back is over with it, in one step: nothing is left to take back.
    (IntentState.PREPARING, IntentEvent.REPLACE): IntentState.ENDED,
    (IntentState.ACTIVE, IntentEvent.REPLACE): IntentState.ENDED,
    (IntentState.RETURNING, IntentEvent.REPLACE): IntentState.ENDED,
    (IntentState.ACTIVE, IntentEvent.DONE): IntentState.ENDED,
}
ENDINGS: Mapping[IntentEvent, Ending] = {
    IntentEvent.UNDO: Ending.UNDONE,
    IntentEvent.EXPIRE: Ending.EXPIRED,
    IntentEvent.REPLACE: Ending.REPLACED,
    IntentEvent.DONE: Ending.DONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an intent is about; "" is any: a data centre for all of its services, and so on.

    Attributes:
        cluster: by its name, in one data centre of one service.
        endpoint: `ADDRESS:PORT`, in one data centre of one service.
    """

    service: str = ""
    datacenter: str = ""
    cluster: str = ""
    endpoint: str = ""

    @property
    def subject(self) -> str:
        """Its name as `kind/name` words, as in findings and in the audit log."""
        words = (
            ("service", self.service),
            ("datacenter", self.datacenter),
            ("cluster", self.cluster),
            ("endpoint", self.endpoint),
        )
        return " ".join(f"{kind}/{name}" for kind, name in words if name) or "fleet"

    def covers(self, other: "Target") -> bool:
        """Whether the other one is the same or a part of it."""
        pairs = (
            (self.service, other.service),
            (self.datacenter, other.datacenter),
            (self.cluster, other.cluster),
            (self.endpoint, other.endpoint),
        )
        return all(mine in ("", theirs) for mine, theirs in pairs)


EVERYTHING = Target()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A limit of a service; what a preset does not need is None.

    Attributes:
        concurrent: requests that the service works on at once, for each gateway; >= 1. Of a waiting
            room, sessions inside at first, of all gateways together.
        waiting: further ones that may wait at its endpoints; >= 0. The rest is refused with 503.
        rate_rps: requests per second, for each gateway; > 0.
        status: of the answer of a block, 403 or 503.
    """

    name: PresetName
    concurrent: int | None = None
    waiting: int | None = None
    rate_rps: float | None = None
    status: int = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One split as it was: integer weights by data centre, which sum to 10,000."""

    service: str
    source_region: str
    weights: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a service was expected to bear when an intent was planned; rate in requests/s."""

    service: str
    rate_rps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """How a service is limited so that the survivors of a failover can bear what moves to them.

    Attributes:
        part: of its requests that have room, 0..1: while less of them goes to the survivors,
            nothing is limited.
    """

    service: str
    preset: Preset
    part: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked, before anybody has judged it.

    Attributes:
        over_s: a drain takes this long; 0 is at once.
        return_s: the way back takes this long; 0 is at once.
        shares: data centre -> share of a pin; they are normalised.
        preset: of a preset; revision: that a rollback publishes.
        expires_s: UTC epoch seconds; None is never.
        force: also without room, or at the last serving data centre; audited.
    """

    kind: IntentKind
    target: Target = EVERYTHING
    reason: str = ""
    over_s: float = 0.0
    return_s: float = 0.0
    shares: tuple[tuple[str, float], ...] = ()
    preset: Preset | None = None
    revision: int = 0
    expires_s: float | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One intent.

    Attributes:
        id: `<kind>-<number>`.
        number: of the register when it was made: later ones are greater.
        author: name of a token, `health`, or `policy/NAME`.
        created_s, active_s, returning_s, ended_s: UTC epoch seconds; None is not yet.
        change: number of the register at its last change, ascending over all intents.
        ending: why it ended or is taken back; None before.
        before: the splits of the services that it touches as they were without any intent, from
            which everything is rebuilt.
        loads: what its plan counted with; joining: reserves that its plan called, in order.
        limits: the survivors' admission in its plan, by service.
        published: revision of the first snapshot that has its present state; 0 is none yet.
        cause: what made it, when no person did: a finding's id, an alert's fingerprint.
    """

    id: str
    number: int
    wanted: Wanted
    author: str
    created_s: float
    change: int
    state: IntentState = IntentState.ACTIVE
    active_s: float | None = None
    returning_s: float | None = None
    ended_s: float | None = None
    ending: Ending | None = None
    before: tuple[Row, ...] = ()
    loads: tuple[Load, ...] = ()
    joining: tuple[str, ...] = ()
    limits: tuple[Admission, ...] = ()
    published: int = 0
    cause: str = ""

    @property
    def kind(self) -> IntentKind:
        """What is asked."""
        return self.wanted.kind

    @property
    def target(self) -> Target:
        """What it is about."""
        return self.wanted.target

    @property
    def standing(self) -> bool:
        """Whether it is still over what is published."""
        return self.state is not IntentState.ENDED

    @property
    def moves(self) -> bool:
        """Whether it changes splits, so that nothing else may decide them meanwhile."""
        return self.kind is not IntentKind.PRESET

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"intent/{self.id} {self.target.subject}"


def intent_id(kind: IntentKind, number: int) -> str:
    """The id of the intent that was made as the register's change of that number."""
    return f"{kind}-{number}"


def advanced(intent: Intent, event: IntentEvent, now_s: float, change: int) -> Intent:
    """The intent after an event.

    Raises:
        Conflict: the event cannot happen in the intent's state.
    """
    state = state_after("intent_state", NEXT, intent.state, event, ("intent", intent.id))
    moved = replace(intent, state=state, change=change, published=0)
    if state is IntentState.ACTIVE:
        return replace(moved, active_s=now_s)
    if state is IntentState.ENDED:
        ending = ENDINGS.get(event, intent.ending)
        return replace(moved, ended_s=now_s, ending=ending, published=intent.published)
    return replace(moved, returning_s=now_s, ending=ENDINGS[event])
