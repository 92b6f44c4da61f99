"""What is declared of a queue of sessions, and what of it can be carried out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.jwks import public_keys

ALGORITHM = "ES256"
MOST_PATHS = 100
MOST_REVOKED = 1_000
LONGEST_PATH = 1_024


class Gate(StrEnum):
    """The operator's switch.

    `QUEUE` lets in as many as there is room for; `BYPASS` lets everybody through and counts nobody;
    `HOLD` lets nobody in, those inside stay and everybody else waits.
    """

    QUEUE = "queue"
    BYPASS = "bypass"
    HOLD = "hold"


class Alone(StrEnum):
    """What an agent does while it cannot reach the shared state.

    `POOL` keeps a pool of its own of `alone_share` of the last size; `ADMIT` lets everybody
    through; `REFUSE` lets only those through who hold a ticket.
    """

    POOL = "pool"
    ADMIT = "admit"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQueuePolicy:
    """How many sessions are served at once, and how the others wait.

    Attributes:
        target_ms: mean response time that the site is kept at while somebody waits, 1..600,000.
        initial_size: sessions inside when there is no peak, 1..1,000,000.
        least_size, most_size: bounds of the pool, 1..1,000,000.
        period_s: between two decisions about the size, 0.05..3,600.
        calm_s: nobody waited for so long: back to `initial_size`, 0..86,400.
        idle_s: a session without a request for so long is over, 0.1..86,400.
        session_s: no session is inside for longer, 1..604,800.
        ticket_s: how long a ticket lets through without asking, in whole seconds; 1..3,600. A
            session that goes on gets a new one, and one that stops is noticed within `idle_s` +
            `ticket_s`.
        abandon_s: who waits and does not ask for so long has gone, 0.1..86,400.
        poll_s, most_poll_s: shortest and longest time between two questions of one who waits,
            0.05..3,600; at most a third of `abandon_s`.
        hold_s: a request waits for so long in the agent before it gets the waiting page; only
            where the agent is the proxy, because others end their question after milliseconds.
            0..60.
        most_waiting: more are told to come back later, 0..1,000,000.
        draw_s: who comes in the same interval of this length is put in random order, 0..3,600; 0 is
            first in, first out.
        starts_at_s: nobody enters before this Unix time, and all who have come by then are put in
            random order; 0 is open.
        gate: the operator's switch.
        finish_paths: the session is over when one of these paths has been answered; exact, in
            normal form.
        bound_to_source: a ticket is worth nothing from another address.
        alone, alone_share: while the shared state is away; the share is above 0, at most 1.
        keys: public keys of the agents' tickets as a JWK set (JSON); proxies that verify tickets
            by themselves get them, and agents believe them; "" is the agent's own key only.
        revoked: sessions that are put out, by their number; they are somebody new from then on.
        title: heading of the waiting page, "" is the usual one.
    """

    target_ms: float = 1_000.0
    initial_size: int = 10
    least_size: int = 1
    most_size: int = 10_000
    period_s: float = 5.0
    calm_s: float = 60.0
    idle_s: float = 60.0
    session_s: float = 3_600.0
    ticket_s: int = 20
    abandon_s: float = 60.0
    poll_s: float = 2.0
    most_poll_s: float = 15.0
    hold_s: float = 0.0
    most_waiting: int = 100_000
    draw_s: float = 0.0
    starts_at_s: float = 0.0
    gate: Gate = Gate.QUEUE
    finish_paths: tuple[str, ...] = ()
    bound_to_source: bool = True
    alone: Alone = Alone.POOL
    alone_share: float = 0.5
    keys: str = ""
    revoked: tuple[str, ...] = ()
    title: str = ""


LIMITS = (
    ("target_ms", 1, 600_000),
    ("initial_size", 1, 1_000_000),
    ("least_size", 1, 1_000_000),
    ("most_size", 1, 1_000_000),
    ("period_s", 0.05, 3_600),
    ("calm_s", 0, 86_400),
    ("idle_s", 0.1, 86_400),
    ("session_s", 1, 604_800),
    ("ticket_s", 1, 3_600),
    ("abandon_s", 0.1, 86_400),
    ("poll_s", 0.05, 3_600),
    ("most_poll_s", 0.05, 3_600),
    ("hold_s", 0, 60),
    ("most_waiting", 0, 1_000_000),
    ("draw_s", 0, 3_600),
    ("starts_at_s", 0, 4_102_444_800),
    ("alone_share", 0.001, 1),
)
LONGEST_TITLE = 200
LONGEST_KEYS = 65_536


def check_session_queue(policy: SessionQueuePolicy) -> None:
    """Raise Invalid `policy_invalid` for what no gateway could carry out."""
    for words in _faults(policy):
        raise Invalid("policy_invalid", f"session_queue: {words}")


def _faults(policy: SessionQueuePolicy) -> Iterator[str]:
    for name, low, high in LIMITS:
        value = getattr(policy, name)
        # Also what is no number at all: NaN is within nothing.
        if not low <= value <= high:
            yield f"{name} is {value:g}: give {low:g}..{high:g}"
    if not policy.least_size <= policy.initial_size <= policy.most_size:
        yield (
            f"initial_size is {policy.initial_size}: give {policy.least_size}..{policy.most_size}, "
            "the least and the most size"
        )
    if not policy.poll_s <= policy.most_poll_s <= policy.abandon_s / 3:
        yield (
            f"poll_s is {policy.poll_s:g}, most_poll_s {policy.most_poll_s:g} and abandon_s "
            f"{policy.abandon_s:g}: two questions may get lost, so give poll_s <= most_poll_s <= "
            "abandon_s / 3"
        )
    if policy.hold_s > policy.abandon_s:
        yield f"hold_s is {policy.hold_s:g}: keep it within abandon_s, {policy.abandon_s:g}"
    yield from _texts(policy)


def _texts(policy: SessionQueuePolicy) -> Iterator[str]:
    if len(policy.finish_paths) > MOST_PATHS:
        yield f"finish_paths has {len(policy.finish_paths)} items: keep it within {MOST_PATHS}"
    for path in policy.finish_paths:
        if not path.startswith("/") or len(path) > LONGEST_PATH:
            yield f"finish_paths has {path[:80]!r}: begin with /, at most {LONGEST_PATH} characters"
    if len(policy.revoked) > MOST_REVOKED:
        yield (
            f"revoked has {len(policy.revoked)} items: keep it within {MOST_REVOKED}; those older "
            "than session_s are out already"
        )
    if len(policy.title) > LONGEST_TITLE:
        yield f"title has {len(policy.title)} characters: keep it within {LONGEST_TITLE}"
    if len(policy.keys) > LONGEST_KEYS:
        yield f"keys has {len(policy.keys)} characters: keep it within {LONGEST_KEYS}"
    elif policy.keys:
        yield from _keys(policy.keys)


def _keys(text: str) -> Iterator[str]:
    try:
        found = public_keys(text)
    except Invalid as error:
        yield f"keys: {error.message}"
    else:
        for key in found:
            if key.algorithm != ALGORITHM:
                yield f"keys has one for {key.algorithm}: tickets are signed with {ALGORITHM}"
