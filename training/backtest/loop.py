"""Close the loop: lanes decide, the site answers, cycle by cycle.

All lanes live in one world at once: the site is played in one pass of numpy for all of them, then
each decides by itself. Lanes of one seed meet the same weather (common random numbers).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.telemetry import Sample
from training.backtest.audit import Audit
from training.backtest.lane import CYCLE_S, PERIOD_S, SERVICE, Lane, names
from training.simulation import site
from training.simulation.contrast import OVERLOAD
from training.simulation.site import Lanes, Played, Readings
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

CYCLE_MINUTES = int(CYCLE_S / PERIOD_S)
_REQUIRED = ("request_rate_rps", "response_time_ms")
_OPTIONAL = ("cpu_avg", "cpu_max", "ingress_bandwidth_bps", "memory", "disk")

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """What each lane lived through.

    Attributes:
        shares: (lanes, cycles, centers) in force during each cycle.
        mean_ms: (lanes, n) expected, request-weighted, without noise; requests_rps: (lanes, n).
        overloaded: (lanes, n) some centre was above `OVERLOAD`.
        own: (lanes, cycles) the decision at the cycle's end was the strategy's own: no fallback,
            no demotion; False where nothing is decided.
        violations: per lane, promises of the envelope that were not kept, in words.
    """

    shares: FloatArray
    mean_ms: FloatArray
    requests_rps: FloatArray
    overloaded: BoolArray
    own: BoolArray
    violations: tuple[tuple[str, ...], ...]
    lanes: tuple[Lane, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Post:
    """Samples of one lane that have not arrived yet: (minute of arrival, sample)."""

    waiting: list[tuple[float, Sample]] = field(default_factory=list)

    def arrived(self, minute: float) -> list[Sample]:
        due = [sample for arrives, sample in self.waiting if arrives <= minute]
        self.waiting = [item for item in self.waiting if item[0] > minute]
        return due


def play(
    world: World,
    weathers: Sequence[Weather],
    lanes: Sequence[tuple[int, Lane]],
    tell: Tell = lambda cycles: None,
) -> Course:
    """Live through the whole weather.

    Args:
        world: where.
        weathers: all of the same length; a rest of less than a cycle is left out.
        lanes: index of its weather, and the lane.
        tell: told the number of cycles that are over.
    """
    gathered = site.gather(world, weathers, np.array([index for index, _ in lanes]))
    cycles = gathered.minutes // CYCLE_MINUTES
    state = site.start(gathered)
    recorder = _Recorder(len(lanes), cycles, len(world.centers))
    posts = [_Post() for _ in lanes]
    audits = [Audit() for _ in lanes]
    for cycle in range(cycles):
        minutes = slice(cycle * CYCLE_MINUTES, (cycle + 1) * CYCLE_MINUTES)
        shares = np.array([lane.applied for _, lane in lanes])
        played, state = site.play(gathered, state, minutes, shares)
        recorder.record(cycle, shares, played)
        arrivals = _samples(world, gathered, minutes, played.seen)
        now_s = float(gathered.weather.time_s[minutes.stop - 1])
        ahead = _growth(gathered, minutes)
        for at, (_, lane) in enumerate(lanes):
            posts[at].waiting += arrivals[at]
            lane.observe(posts[at].arrived(minutes.stop - 1))
            before = lane.applied
            decided = lane.decide(now_s)
            recorder.own[at, cycle] = decided.strategy == lane.contestant.strategy
            audits[at].follow(
                before, decided, now_s, float(played.utilization[at].max()) * ahead[at]
            )
        tell(cycle + 1)
    return recorder.course(audits, [lane for _, lane in lanes])


class _Recorder:
    """Arrays that fill up cycle by cycle."""

    def __init__(self, lanes: int, cycles: int, centers: int) -> None:
        minutes = cycles * CYCLE_MINUTES
        self.shares = np.empty((lanes, cycles, centers))
        self.mean_ms = np.empty((lanes, minutes))
        self.requests_rps = np.empty((lanes, minutes))
        self.overloaded = np.empty((lanes, minutes), dtype=np.bool_)
        self.own = np.zeros((lanes, cycles), dtype=np.bool_)

    def record(self, cycle: int, shares: FloatArray, played: Played) -> None:
        minutes = slice(cycle * CYCLE_MINUTES, (cycle + 1) * CYCLE_MINUTES)
        self.shares[:, cycle] = shares
        self.mean_ms[:, minutes] = played.mean_ms
        self.requests_rps[:, minutes] = played.requests_rps
        self.overloaded[:, minutes] = (played.utilization > OVERLOAD).any(axis=1)

    def course(self, audits: Sequence[Audit], lanes: Sequence[Lane]) -> Course:
        return Course(
            shares=self.shares,
            mean_ms=self.mean_ms,
            requests_rps=self.requests_rps,
            overloaded=self.overloaded,
            own=self.own,
            violations=tuple(tuple(audit.violations) for audit in audits),
            lanes=tuple(lanes),
        )


def _growth(lanes: Lanes, minutes: slice) -> FloatArray:
    """How much busier the coming two cycles are than this one, per lane, at least 1.

    A guard may call a centre hot for the load that it foresees, as at the release of tickets; the
    profile by which it does is straight between its parts, so it begins a few minutes early.
    """
    arrival_rps, index = lanes.weather.arrival_rps, lanes.index
    now = arrival_rps[index, minutes].mean(axis=1)
    coming = slice(minutes.stop, minutes.stop + 2 * CYCLE_MINUTES)
    most = arrival_rps[index, coming].max(axis=1, initial=0.0)
    return np.asarray(np.maximum(most / np.maximum(now, 1e-9), 1.0))


def _samples(
    world: World, lanes: Lanes, minutes: slice, seen: Readings
) -> list[list[tuple[float, Sample]]]:
    """Samples of each lane with the minute of their arrival; what never arrives is left out."""
    times = lanes.weather.time_s[minutes].tolist()
    starts = float(lanes.weather.time_s[0])
    required = [getattr(seen, name).tolist() for name in _REQUIRED]
    optional = [getattr(seen, name).tolist() for name in _OPTIONAL]
    arrives = seen.arrives_minute.tolist()
    per_lane = []
    for lane in range(len(arrives)):
        samples = []
        for center, name in enumerate(names(world)):
            for minute, time_s in enumerate(times):
                due = arrives[lane][center][minute]
                rate, response = (values[lane][center][minute] for values in required)
                cpu, cpu_max, bandwidth, memory, disk = (
                    _known(values[lane][center][minute]) for values in optional
                )
                if due == np.inf:
                    continue
                samples.append(
                    (
                        due,
                        Sample(
                            datacenter=name,
                            service=SERVICE,
                            time_s=time_s,
                            received_s=starts + due * PERIOD_S,
                            response_time_ms=response,
                            request_rate_rps=_known(rate),
                            cpu_avg=cpu,
                            cpu_max=cpu_max,
                            ingress_bandwidth_bps=bandwidth,
                            memory=memory,
                            disk=disk,
                        ),
                    )
                )
        per_lane.append(samples)
    return per_lane


def _known(value: float) -> float | None:
    return value if value == value else None
