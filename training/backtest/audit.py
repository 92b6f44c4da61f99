"""Whether a path kept what the envelope promises, checked apart from the guards that keep it.

Called by backtest.loop for every lane behind the envelope. What counts is what was decided, and
the true utilization of the cycle before, which no guard can see; limits are those of the design:
shares within their bounds, no step above 0.05, above 0.15 when hot, no more than six moves an hour
when calm. The way back to the declared ratio while metrics are silent, and a shift by chance, are
no moves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.domain.guardrails.state import Outcome
from training.backtest.lane import Decided

LOW, HIGH, LOW_OF_MANY = 0.20, 0.80, 0.05
STEP, HOT_STEP = 0.05, 0.15
# The envelope calls a centre hot above 0.88 by what it measures; noise and the coming cycle's
# load may say so a little earlier than the truth of the last cycle.
HOT = 0.80
MOVES, WINDOW_S = 6, 3_600.0
_COUNTED = frozenset({Outcome.MOVED, Outcome.REVERTED})
_ROUNDING = 1.5e-4


@dataclass(slots=True, kw_only=True)
class Audit:
    """One lane's path so far."""

    violations: list[str] = field(default_factory=list)
    moves_s: list[float] = field(default_factory=list)

    def follow(
        self, before: Sequence[float], decided: Decided, now_s: float, busiest: float
    ) -> None:
        """Judge one decision.

        `busiest` is the highest true utilization of the cycle before, grown as the arrivals do.
        """
        after, verdict = decided.shares, decided.verdict
        if verdict is None:
            return
        hot = busiest >= HOT
        found = [*_improper(after), *_too_far(before, after, HOT_STEP if hot else STEP)]
        if before != after and verdict.outcome in _COUNTED:
            self.moves_s = [at for at in self.moves_s if at > now_s - WINDOW_S] + [now_s]
            if len(self.moves_s) > MOVES and not hot:
                found.append(f"{len(self.moves_s)} moves within an hour")
        self.violations += [f"{now_s:.0f}: {what}" for what in found]


def _improper(shares: Sequence[float]) -> list[str]:
    if not all(math.isfinite(share) for share in shares) or abs(math.fsum(shares) - 1.0) > 1e-6:
        return [f"{tuple(shares)} is no split"]
    low = LOW if len(shares) == 2 else LOW_OF_MANY
    return [
        f"share {share:.4f} is outside {low:g}..{HIGH:g}"
        for share in shares
        if not low - _ROUNDING <= share <= HIGH + _ROUNDING
    ]


def _too_far(before: Sequence[float], after: Sequence[float], limit: float) -> list[str]:
    step = max(abs(b - a) for a, b in zip(before, after, strict=True))
    return [f"a step of {step:.4f}, at most {limit:g}"] if step > limit + _ROUNDING else []
