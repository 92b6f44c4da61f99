"""Series to samples, and what is wrong with single series.

Called by `engine.samples.pull` once per source and period. A series that is not a number, stands
twice, is old or names nobody is left out and reported; the rest counts. What is missing stays
missing: nothing here makes a zero.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.domain.errors import NotFound
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.pulling import questions
from controlplane.domain.pulling.asked import HELD, Asked, Pulled
from controlplane.domain.sources import NEWEST_SAMPLE, Answer, Failure, Pair, Point
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Fleet

# A thousand broken series are not a thousand findings.
MOST_SERIES_FOUND = 50
LOADS = ("request_rate_rps", "ingress_bandwidth_bps")


@dataclass(slots=True)
class _Round:
    """What was read so far."""

    asked: Asked
    fleet: Fleet
    values: dict[Pair, dict[str, Point]] = field(default_factory=dict)
    spoiled: set[tuple[Pair, str]] = field(default_factory=set)
    strangers: set[Pair] = field(default_factory=set)
    whole: list[Observation] = field(default_factory=list)
    single: list[Observation] = field(default_factory=list)

    def spoil(self, fault: "_Fault", reading: str, pair: Pair) -> None:
        """One series is left out."""
        self.spoiled.add((pair, reading))
        self.single.append(
            Observation(
                code=fault.code,
                subject=self.asked.subject(reading, pair),
                message=fault.message,
                held=HELD,
                severity=fault.severity,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """Why a series is left out."""

    code: str
    message: str
    severity: Severity = Severity.WARNING


def joined(
    asked: Asked, answers: Sequence[Answer], failures: Sequence[Failure], fleet: Fleet
) -> Pulled:
    """Join the answers of one round to samples; `received_s` is the intake's to set."""
    reading = _Round(asked=asked, fleet=fleet)
    reading.whole += questions.failed(asked, failures)
    reading.whole += questions.empty(asked, answers, failures)
    for answer in sorted(answers, key=lambda one: one.reading):
        reading.whole += questions.warned(asked, answer)
        if not answer.partial:
            _take(reading, answer)
    reading.whole += questions.unknown(asked, reading.strangers)
    _drop_stale(reading)
    answered = [answer.reading for answer in answers if answer.points and not answer.partial]
    samples = tuple(_samples(reading, answered))
    _miss_whom_it_told_about(reading)
    return Pulled(samples=samples, observations=(*reading.whole, *_bounded(reading)))


def _take(reading: _Round, answer: Answer) -> None:
    """Keep the good points of one answer."""
    counts = Counter(point.pair for point in answer.points)
    nameless = 0
    for point in answer.points:
        pair = point.pair
        if not all(pair):
            nameless += 1
        elif not _declared(reading.fleet, pair):
            reading.strangers.add(pair)
        elif counts[pair] > 1:
            if (pair, answer.reading) not in reading.spoiled:
                reading.spoil(_duplicate(counts[pair]), answer.reading, pair)
        elif fault := _fault(reading, point):
            reading.spoil(fault, answer.reading, pair)
        else:
            reading.values.setdefault(pair, {})[answer.reading] = point
    if nameless:
        reading.whole.append(questions.nameless(reading.asked, answer.reading, nameless))


def _duplicate(count: int) -> _Fault:
    message = f"{count} series: aggregate by service and data center"
    return _Fault(code="source_series_duplicate", message=message)


def _fault(reading: _Round, point: Point) -> _Fault | None:
    asked = reading.asked
    if not math.isfinite(point.value):
        return _not_finite(point, reading.values.get(point.pair, {}))
    away_s = asked.time_s - point.time_s
    if abs(away_s) <= asked.period_s:
        return None
    return _Fault(
        code="source_answer_stale",
        message=f"evaluated for a time {away_s:.0f} s before the one asked for, the limit is "
        f"{asked.period_s:g} s: look for a cache in front of the source",
    )


def _not_finite(point: Point, known: Mapping[str, Point]) -> _Fault:
    # By name, the rate was read before the response time.
    rate = known.get("request_rate_rps")
    idle = rate is not None and rate.value == 0
    words = "there are no requests, so no mean" if idle else "a division by zero, or no history yet"
    return _Fault(
        code="source_value_not_finite",
        message=f"the value is {point.value}: {words}",
        severity=Severity.INFO if idle else Severity.WARNING,
    )


def _declared(fleet: Fleet, pair: Pair) -> bool:
    try:
        fleet.service(pair[0]).cluster(pair[1])
    except NotFound:
        return False
    return True


def _drop_stale(reading: _Round) -> None:
    """Leave out whom the newest raw sample says to be silent, where the source was asked so."""
    limit_s = 2 * reading.asked.period_s
    for pair, values in sorted(reading.values.items()):
        newest = values.pop(NEWEST_SAMPLE, None)
        age_s = 0.0 if newest is None else reading.asked.time_s - newest.value
        if age_s > limit_s:
            message = f"the newest raw sample is {age_s:.0f} s old, the limit is {limit_s:g} s"
            fault = _Fault(code="source_series_stale", message=message)
            reading.spoil(fault, NEWEST_SAMPLE, pair)
            del reading.values[pair]


def _samples(reading: _Round, answered: Sequence[str]) -> Iterable[Sample]:
    readings = [name for name in answered if name != NEWEST_SAMPLE]
    for pair, values in sorted(reading.values.items()):
        for name in readings:
            if name not in values and (pair, name) not in reading.spoiled:
                reading.spoil(_missing("while other queries have one"), name, pair)
        if "response_time_ms" in values and any(load in values for load in LOADS):
            yield _sample(pair, values)


def _sample(pair: Pair, values: Mapping[str, Point]) -> Sample:
    time_s = min(point.time_s for point in values.values())
    least = Sample(
        service=pair[0],
        datacenter=pair[1],
        time_s=time_s,
        received_s=time_s,
        response_time_ms=values["response_time_ms"].value,
    )
    readings: dict[str, Any] = {name: point.value for name, point in values.items()}
    return replace(least, **readings)


def _missing(words: str) -> _Fault:
    return _Fault(code="source_series_missing", message=f"no series, {words}")


def _miss_whom_it_told_about(reading: _Round) -> None:
    """A whole pair that vanished; when all did, the source itself has its finding."""
    told = {*reading.values, *(pair for pair, _ in reading.spoiled)}
    if not told:
        return
    for pair in sorted(set(reading.asked.expected) - told):
        if _declared(reading.fleet, pair):
            reading.spoil(_missing("in any query, where there was one before"), "", pair)


def _bounded(reading: _Round) -> Iterable[Observation]:
    ordered = sorted(reading.single, key=lambda one: (one.subject, one.code))
    yield from ordered[:MOST_SERIES_FOUND]
    if (more := len(ordered) - MOST_SERIES_FOUND) > 0:
        yield Observation(
            code="source_more_series",
            subject=reading.asked.subject(),
            message=f"{more} more series have faults like those listed",
            held=HELD,
        )
