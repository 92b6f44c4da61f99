"""The live ledger of a model: what it said about the coming cycle, and what came.

One forecast a cycle, for the shares that were decided; when the cycle is over it becomes a pair
with the realised response time and with persistence, the cheapest forecast there is: the next
cycle will be like the last one. Kept in `GuardState` and in the record of a shadow, so that it
survives a restart. Read by the skill guard, by the ladder and by early retraining.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from controlplane.domain.guardrails.draft import NEGLIGIBLE, distance, predicted_ms
from controlplane.domain.strategies.center_use import SATURATED, declared_uses
from controlplane.domain.strategies.rules import max_known
from controlplane.domain.strategies.situation import Proposal, Shares, Situation, once
from controlplane.domain.telemetry import load_measure, reading
from controlplane.domain.uncertainty import short

# A forecast is judged when about one cycle has passed: a burst of pokes comes too early, and
# after a pause of the process the last cycle is no longer the one that was forecast.
EARLIEST, LATEST = 0.5, 1.5
# A cycle without a finite prediction counts as the worst error of the ledger, at least as this.
MISS = 1.0
# Pairs that a level is told by at least, and the highest one.
LEVEL_PAIRS, HIGHEST_LEVEL = 3, 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What was said at `time_s` about the cycle after it.

    Attributes:
        shares: in force during that cycle, else the forecast is void.
        predicted_ms: None when the model was asked and had no finite answer.
        persisted_ms: realised in the cycle before.
        span: how far the candidates' predictions lie apart, relative; 0 is the same for all.
    """

    time_s: float
    shares: Shares
    predicted_ms: float | None
    persisted_ms: float
    span: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A forecast and what came.

    Attributes:
        time_s: when the cycle was over.
        predicted_ms, persisted_ms, span: of the forecast.
        use: utilisation of the busiest centre during the cycle, by what is declared.
    """

    time_s: float
    predicted_ms: float | None
    realised_ms: float
    persisted_ms: float
    span: float
    use: float = 0.0

    @property
    def error(self) -> float | None:
        """(predicted - realised) / realised; None is a miss."""
        if self.predicted_ms is None:
            return None
        return (self.predicted_ms - self.realised_ms) / self.realised_ms

    @property
    def persistence_error(self) -> float:
        """The same of persistence."""
        return (self.persisted_ms - self.realised_ms) / self.realised_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The newest pairs of one model, oldest first, and the forecast that is still open.

    `judged` counts its pairs since it came into service, those too that are no longer kept.
    """

    model: str = ""
    pending: Forecast | None = None
    pairs: tuple[Pair, ...] = ()
    judged: int = 0


def settled(ledger: Ledger, situation: Situation, length: int) -> Ledger:
    """The ledger with its forecast judged, if its cycle is over; of another model, a new one.

    Args:
        length: pairs that are kept, >= 1.
    """
    model = situation.model.digest if situation.model is not None else ""
    if ledger.model != model:
        return Ledger(model=model)
    forecast = ledger.pending
    if forecast is None:
        return ledger
    age = (situation.now_s - forecast.time_s) / situation.cycle_s
    moved = len(forecast.shares) != len(situation.applied)
    moved = moved or distance(forecast.shares, situation.applied) >= NEGLIGIBLE
    if moved or not 0 <= age <= LATEST:
        return replace(ledger, pending=None)
    if age < EARLIEST:
        return ledger
    realised = cycle_ms(situation)
    use = max_known([use.use for use in declared_uses(situation)])
    # A full centre's CPU has no room to show how full it is: no forecast can be good then.
    full = use >= SATURATED and forecast.predicted_ms is not None
    if realised is None or full:
        return replace(ledger, pending=None)
    pair = Pair(
        time_s=situation.now_s,
        predicted_ms=forecast.predicted_ms,
        realised_ms=short(realised),
        persisted_ms=forecast.persisted_ms,
        span=forecast.span,
        use=short(max(use, 0.0)),
    )
    pairs = (*ledger.pairs, pair)[-length:]
    return replace(ledger, pending=None, pairs=pairs, judged=ledger.judged + 1)


def foretold(ledger: Ledger, situation: Situation, proposal: Proposal, shares: Shares) -> Ledger:
    """The ledger with the forecast for `shares`, which go into force now.

    An open forecast stays while its shares do. There is none without a model, without a curve
    that reaches the shares (unless the model failed), and before anything was realised.
    """
    if not ledger.model:
        return Ledger()
    if ledger.pending is not None and distance(ledger.pending.shares, shares) < NEGLIGIBLE:
        return ledger
    persisted = cycle_ms(situation)
    predicted = predicted_ms(proposal, shares) if proposal.modeled else None
    if persisted is None or (predicted is None and not proposal.failed):
        return replace(ledger, pending=None)
    forecast = Forecast(
        time_s=situation.now_s,
        shares=shares,
        predicted_ms=None if predicted is None else short(predicted),
        persisted_ms=short(persisted),
        span=short(_span(proposal)),
    )
    return replace(ledger, pending=forecast)


def mean_error(pairs: Sequence[Pair]) -> float:
    """Mean |error| of the model, relative; a miss counts as the worst, at least `MISS`; 0 of ()."""
    known = [abs(error) for pair in pairs if (error := pair.error) is not None]
    misses = len(pairs) - len(known)
    return _mean([*known, *[max([MISS, *known])] * misses])


def mean_persistence_error(pairs: Sequence[Pair]) -> float:
    """Mean |error| of persistence, relative; 0 of ()."""
    return _mean([abs(pair.persistence_error) for pair in pairs])


def level(pairs: Sequence[Pair], until_s: float) -> float:
    """How much slower than predicted everything was up to a time: 1 is not at all.

    The median of realised / predicted, in 1..`HIGHEST_LEVEL`. A site that has become slower as a
    whole says nothing about a choice between its centres.
    """
    ratios = [
        pair.realised_ms / pair.predicted_ms
        for pair in pairs
        if pair.time_s <= until_s and pair.predicted_ms is not None and pair.predicted_ms > 0
    ]
    if len(ratios) < LEVEL_PAIRS:
        return 1.0
    return min(max(median(ratios), 1.0), HIGHEST_LEVEL)


@once
def cycle_ms(situation: Situation) -> float | None:
    """Load-weighted mean response time of the last cycle, > 0; None without load or samples.

    Its first period is left out: it began before the shares of that cycle were in force.
    """
    realised = realised_ms(situation, situation.now_s - situation.cycle_s)
    return realised if realised is not None and 0 < realised < math.inf else None


def realised_ms(situation: Situation, since_s: float) -> float | None:
    """As `cycle_ms`, but of the time after a move at `since_s`, a cycle at most.

    The first period after the move still mixes both splits and is left out.
    """
    start_s = max(since_s + situation.period_s, situation.now_s - situation.cycle_s)
    samples = [
        sample
        for center in situation.centers
        for sample in situation.window.recent(center.name, start_s)
    ]
    measure = load_measure(samples)
    loads = [reading(sample, measure) for sample in samples]
    total = math.fsum(loads)
    if not total > 0:
        return None
    weighed = zip(loads, samples, strict=True)
    return math.fsum(load * sample.response_time_ms for load, sample in weighed) / total


def _span(proposal: Proposal) -> float:
    values = [point.response_time_ms for point in proposal.curve] or [
        value
        for curve in proposal.center_curves
        for value in curve.response_time_ms
        if math.isfinite(value)
    ]
    if not values:
        return 0.0
    return (max(values) - min(values)) / max(abs(max(values)), 1e-9)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
