"""What S2 counts as the load of a data centre, and what its traffic adds to it.

B = alpha N / Nmax + (1 - alpha) P: N connections of at most Nmax, P the use of its database pool.
Read by `regional`, by the guard of reserves, and by the intake for its alarm.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.services import RegionalRule, Service, StrategyName
from controlplane.domain.strategies.center_use import SMALLEST_PART
from controlplane.domain.strategies.demand import since_move
from controlplane.domain.strategies.situation import Note, Situation
from controlplane.domain.telemetry import Sample, load_measure, mean, reading


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterLoad:
    """Load of one data centre as S2 counts it, since the last move.

    Attributes:
        rate: requests/s (or bit/s where no rate is reported).
        load: B.
        per_rate: what one unit of rate adds to B; > 0.
        standing: the part of B that is there without traffic.
    """

    rate: float = 0.0
    load: float = 0.0
    per_rate: float = 1.0
    standing: float = 0.0


def load_of(sample: Sample, rule: RegionalRule) -> float:
    """B of one sample; NaN when a part of it that counts is not reported."""
    used = reading(sample, "connections") / reading(sample, "connection_limit")
    parts = ((rule.alpha, used), (1.0 - rule.alpha, reading(sample, "pool_use")))
    return math.fsum(weight * value for weight, value in parts if weight > 0)


def alarming(sample: Sample, service: Service) -> bool:
    """Whether a sample is over its service's level, so that it is decided at once."""
    if sample.cpu_avg is not None and sample.cpu_avg > service.alarm_cpu:
        return True
    regional = service.strategy is StrategyName.REGIONAL
    return regional and load_of(sample, service.regional) > service.regional.critical_load


def center_loads(situation: Situation) -> tuple[CenterLoad, ...] | Note:
    """Load of every data centre, or why it cannot be told."""
    histories = [since_move(situation, center) for center in situation.centers]
    if note := _unreadable(situation, histories):
        return note
    measure = load_measure(sample for history in histories for sample in history)
    rule = situation.service.regional
    rates = [mean([reading(s, measure) for s in h]) if h else 0.0 for h in histories]
    loads = [mean([load_of(s, rule) for s in h]) if h else 0.0 for h in histories]
    total = math.fsum(rates)
    known = [
        b / r for b, r in zip(loads, rates, strict=True) if r > SMALLEST_PART * total and b > 0
    ]
    found = []
    for center, rate, load in zip(situation.centers, rates, loads, strict=True):
        if rate > SMALLEST_PART * total and load > 0:
            found.append(CenterLoad(rate=rate, load=load, per_rate=load / rate))
            continue
        # Of a trickle B tells nothing: what is there stays, more counts by declared capacity.
        by_rate = measure == "request_rate_rps"
        usual = 1.0 / center.cluster.capacity_rps if by_rate else max(known, default=math.nan)
        found.append(CenterLoad(rate=rate, load=load, per_rate=usual, standing=load))
    if any(math.isnan(one.per_rate) for one in found):
        return Note(code="load_unknown", message="no data centre tells what its traffic costs")
    return tuple(found)


def _unreadable(situation: Situation, histories: Sequence[Sequence[Sample]]) -> Note | None:
    """A note on who has not been measured since the last move, or does not report all of B."""
    rows = list(zip(situation.centers, situation.awaited, histories, strict=True))
    silent = [center.name for center, waits, history in rows if waits and not history]
    if silent:
        names = ", ".join(silent)
        return Note(code="settling", message=f"no whole period since the last move from {names}")
    rule = situation.service.regional
    partly = [
        center.name
        for center, _, history in rows
        if any(math.isnan(load_of(s, rule)) for s in history)
    ]
    if not partly:
        return None
    wanted = [
        *(["connections", "connection_limit"] if rule.alpha > 0 else []),
        *(["pool_use"] if rule.alpha < 1 else []),
    ]
    message = f"{', '.join(partly)} must report {', '.join(wanted)}"
    return Note(code="regional_load_missing", message=message)
