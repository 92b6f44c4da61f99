"""What the guards remember between cycles, and what they answer. Stored with each decision."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from controlplane.domain.dither import Dither
from controlplane.domain.guardrails.ledger import Ledger
from controlplane.domain.strategies.regions import Rows
from controlplane.domain.strategies.situation import Note, Shares
from controlplane.domain.uncertainty import Calibration


class Outcome(StrEnum):
    """What became of a proposal."""

    MOVED = "moved"
    HELD = "held"
    RAMPED = "ramped"
    REVERTED = "reverted"
    DITHERED = "dithered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demotion:
    """A model that lost its service to the rule, until it is promoted again.

    Attributes:
        model: its digest.
        time_s: when, UTC epoch seconds.
        reason: in words, with the figures.
    """

    model: str
    time_s: float
    reason: str


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
        reverts_s: times of the last reverts that count against a model.
        ledger: what the model in service said and what came.
        demotion: the model that may not decide any more; None while it may.
        calibration: how the intervals of the forecasts have held, and the one of the coming cycle.
        dither: the small shift that is in force on purpose; None without one.
    """

    changes_s: tuple[float, ...] = ()
    previous: Shares = ()
    moved_to: Shares = ()
    expected_ms: float = 0.0
    cycles_over: int = 0
    counted_s: float = 0.0
    hold_until_s: float = 0.0
    reverts_s: tuple[float, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    demotion: Demotion | None = None
    calibration: Calibration = field(default_factory=Calibration)
    dither: Dither | None = None

    @property
    def demoted_model(self) -> str:
        """Digest of the demoted model; "" when there is none."""
        return "" if self.demotion is None else self.demotion.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Concession:
    """Shares that the pools of a cycle allow a service, in place of those its own guards let out.

    Attributes:
        reason: in words for an operator.
    """

    shares: Shares
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The envelope's answer: these shares go out, for these reasons.

    Attributes:
        regions: a row for each source region, of which `shares` is the sum; () without regions.
    """

    outcome: Outcome
    shares: Shares
    state: GuardState
    notes: tuple[Note, ...] = ()
    regions: Rows = ()


def renewed(state: GuardState) -> GuardState:
    """The state after a promotion: a promoted model starts without a past, the same one too."""
    return replace(state, ledger=Ledger(), demotion=None, reverts_s=())


def rearranged(state: GuardState, demotion: Demotion | None) -> GuardState:
    """The state after data centres came, went or changed their order: shares of before say nothing.

    Args:
        demotion: of a model that knows them by their place.
    """
    return replace(
        state,
        previous=(),
        moved_to=(),
        expected_ms=0.0,
        cycles_over=0,
        ledger=Ledger(),
        demotion=demotion,
        calibration=Calibration(),
        dither=None,
    )


def come_true(state: GuardState, now_s: float) -> GuardState:
    """The state without what lies ahead: the clock was set back, and a move of an hour ahead would
    hold all others until it is that time again."""
    changes_s = tuple(time_s for time_s in state.changes_s if time_s <= now_s)
    reverts_s = tuple(time_s for time_s in state.reverts_s if time_s <= now_s)
    ahead = (changes_s, reverts_s) != (state.changes_s, state.reverts_s)
    if not ahead and state.counted_s <= now_s:
        return state
    return replace(
        state,
        changes_s=changes_s,
        reverts_s=reverts_s,
        counted_s=state.counted_s if state.counted_s <= now_s else 0.0,
        hold_until_s=0.0 if ahead else state.hold_until_s,
    )
