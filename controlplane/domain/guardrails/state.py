"""What the guards remember between cycles, and what they answer. Stored with each decision."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.strategies.situation import Note, Shares


class Outcome(StrEnum):
    """What became of a proposal."""

    MOVED = "moved"
    HELD = "held"
    RAMPED = "ramped"
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardState:
    """Memory of the envelope for one service.

    Attributes:
        changes_s: times of the moves of the last hour (UTC epoch seconds), oldest first.
        previous: shares before the last move, the target of a revert; () when there was none.
        moved_to: shares that the last move set; when others are in force, somebody else moved
            and the promise below is void.
        expected_ms: upper bound of the response time that the last move promised; 0 is none.
        cycles_over: cycles in a row with the realised response time above that bound.
        counted_s: when `cycles_over` was last counted, so that a burst of pokes is one cycle.
        hold_until_s: no move before this time (after a revert), except when hot.
        reverts_s: times of the last reverts.
    """

    changes_s: tuple[float, ...] = ()
    previous: Shares = ()
    moved_to: Shares = ()
    expected_ms: float = 0.0
    cycles_over: int = 0
    counted_s: float = 0.0
    hold_until_s: float = 0.0
    reverts_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The envelope's answer: these shares go out, for these reasons."""

    outcome: Outcome
    shares: Shares
    state: GuardState
    notes: tuple[Note, ...] = ()
