"""Intervals around a forecast of response time that hold as often as they say.

Adaptive conformal inference (I. Gibbs, E. Candes, 2021) on top of the spread of an ensemble. With
mu the forecast, s its spread (standard deviation of the logarithm) and y what came:

    score    |log(y / mu)| / s
    q        the (1 - a) quantile of the last 288 scores
    interval mu exp(-q s) .. mu exp(q s)
    a        <- a + gamma (0.1 - miss), miss = 1 where y was outside, else 0

The quantile learns how wrong the forecasts are, `a` corrects what is left: over n cycles the
share of misses is 0.1 within about 1 / (gamma n), whatever the noise and the model. Pure; called
by the guards once per service and cycle, and kept in their state.
"""

import math
from dataclasses import dataclass, replace

# Share of the cycles that may fall outside, and how fast `alpha` follows the misses.
TARGET = 0.1
GAMMA = 0.01
# Scores that are kept: a day of five-minute cycles, so that each hour of the day is in them.
MOST_SCORES = 288
# Until so many are known the interval is no narrower than 90 % of a normal distribution.
FEW_SCORES = 30
NORMAL_90 = 1.645
# Spread of a forecast of which nobody said how good it is, and the least of any.
UNKNOWN_SPREAD, LEAST_SPREAD = 0.05, 0.005
# Scores are kept in hundredths, at most this.
MOST_SCORE = 9_999
# exp of more than this is no response time.
MOST_EXPONENT = 5.0
# A record goes into every decision, twice.
DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What is said about the mean response time of the cycle after `time_s`.

    Attributes:
        shares: in force during that cycle, else it is void.
        predicted_ms: the forecast at these shares, > 0.
        spread: standard deviation of the logarithm of the response time there.
        held_out: the part of `spread` that every candidate has.
        quantile: spreads between the forecast and either end.
    """

    time_s: float
    shares: tuple[float, ...]
    predicted_ms: float
    spread: float
    held_out: float
    quantile: float

    @property
    def low_ms(self) -> float:
        """Lower end."""
        return self.predicted_ms / self._factor(self.spread)

    @property
    def high_ms(self) -> float:
        """Upper end."""
        return self.predicted_ms * self._factor(self.spread)

    def around(self, predicted_ms: float, members: float) -> tuple[float, float]:
        """Both ends for another candidate of the same cycle.

        Args:
            members: how far the members of the ensemble lie apart there.
        """
        factor = self._factor(combined(members, self.held_out))
        return predicted_ms / factor, predicted_ms * factor

    def _factor(self, spread: float) -> float:
        return math.exp(min(self.quantile * spread, MOST_EXPONENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How the intervals of one service have held.

    Attributes:
        scores: the newest ones in hundredths, oldest first, at most `MOST_SCORES`.
        alpha: share of misses that the next interval is made for; below 0 it is wider than any
            score asks for.
        judged, missed: intervals whose cycle is over, and how many of them did not hold.
        misses: which of the last `MOST_SCORES` did not, by their number (1 is the first ever).
        pending: the interval of the cycle that is not over yet.
    """

    scores: tuple[int, ...] = ()
    alpha: float = TARGET
    judged: int = 0
    missed: int = 0
    misses: tuple[int, ...] = ()
    pending: Interval | None = None

    @property
    def coverage(self) -> float | None:
        """Share of the last `MOST_SCORES` intervals that held; None before the first."""
        known = min(self.judged, MOST_SCORES)
        return 1.0 - len(self.misses) / known if known else None

    @property
    def quantile(self) -> float:
        """Spreads between a forecast and either end of its interval, >= 0."""
        ordered = sorted(self.scores)
        count = len(ordered)
        most = ordered[-1] / 100 if ordered else 0.0
        # The rank that holds for scores in any order: ceil((n + 1)(1 - a)).
        rank = math.ceil((count + 1) * (1.0 - self.alpha))
        if rank > count:
            value = most * max(1.0, 1.0 - self.alpha / TARGET)
        else:
            value = ordered[max(rank, 1) - 1] / 100
        return max(value, NORMAL_90) if count < FEW_SCORES else value


def combined(members: float, held_out: float) -> float:
    """Spread of a forecast: what the members disagree on, and what none of them explains."""
    return max(math.hypot(members, held_out), LEAST_SPREAD)


def judged(calibration: Calibration, realised_ms: float) -> Calibration:
    """The calibration after the cycle of its pending interval.

    Args:
        realised_ms: mean response time of that cycle, > 0.
    """
    said = calibration.pending
    if said is None:
        return calibration
    score = abs(math.log(realised_ms) - math.log(said.predicted_ms)) / said.spread
    number = calibration.judged + 1
    miss = score > said.quantile
    alpha = calibration.alpha + GAMMA * (TARGET - miss)
    kept = round(min(100 * score, MOST_SCORE))
    misses = (*calibration.misses, number) if miss else calibration.misses
    return Calibration(
        scores=(*calibration.scores, kept)[-MOST_SCORES:],
        alpha=short(min(max(alpha, -1.0), 1.0)),
        judged=number,
        missed=calibration.missed + miss,
        misses=tuple(each for each in misses if each > number - MOST_SCORES),
    )


def foreseen(calibration: Calibration, interval: Interval) -> Calibration:
    """The calibration with the interval of the coming cycle, its quantile filled in."""
    said = replace(
        interval,
        predicted_ms=short(interval.predicted_ms),
        spread=short(interval.spread),
        quantile=calibration.quantile,
    )
    return replace(calibration, pending=said)


def short(value: float) -> float:
    """A number as it is recorded: `DIGITS` of it."""
    return float(f"{value:.{DIGITS}g}")
