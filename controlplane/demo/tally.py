"""What the load generator counts: per lane and period, per lane and phase, and the latest ends.

Called by the load generator. Pure bookkeeping: no clock, no output.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from controlplane.demo.client import Outcome
from controlplane.demo.histogram import Histogram

KEPT_ENDS = 30_000
"""About a minute of the whole load: an outage is asked for right after it."""


@dataclass(slots=True, kw_only=True)
class LaneTally:
    """Ends of requests of one lane over some time."""

    ok: int = 0
    failed: int = 0
    late: int = 0
    latencies: Histogram = field(default_factory=Histogram)
    datacenters: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome, late: int) -> None:
        """Count one end, with `late` 1 or 0; the latency counts for answers only."""
        self.late += late
        if outcome.failure:
            self.failed += 1
            self.failures[outcome.failure] += 1
            return
        self.ok += 1
        self.latencies.add(outcome.latency_s)
        self.datacenters[outcome.datacenter] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What ended after an instant: failed and late requests, how long after it the last of
    them ended (0 when there was none), and the slowest answer.
    """

    failed: int
    late: int
    last_bad_after_s: float
    slowest_s: float
    reasons: dict[str, int]


class Tally:
    """Counts by period and by phase, and the latest ends of requests one by one."""

    def __init__(self, lanes: int, late_s: float) -> None:
        self._lanes = lanes
        self._late_s = late_s
        self._latest: deque[Outcome] = deque(maxlen=KEPT_ENDS)
        self._phases: dict[int, list[LaneTally]] = {}
        self._period = self._empty()

    def add(self, outcome: Outcome) -> None:
        """Count one end of a request."""
        late = int(outcome.latency_s > self._late_s)
        self._period[outcome.lane].add(outcome, late)
        if outcome.phase not in self._phases:
            self._phases[outcome.phase] = self._empty()
        self._phases[outcome.phase][outcome.lane].add(outcome, late)
        self._latest.append(outcome)

    def next_period(self) -> list[LaneTally]:
        """Hand out the counts since the last call."""
        done, self._period = self._period, self._empty()
        return done

    def phase(self, number: int) -> list[LaneTally]:
        """Counts of the requests that were sent in a phase."""
        return self._phases.get(number) or self._empty()

    def outage(self, since_s: float, lane: int | None = None) -> Outage:
        """What went wrong after `since_s` (the generator's clock), in one lane or in all."""
        ended = [x for x in self._latest if x.done_s >= since_s and lane in (None, x.lane)]
        failed = [x for x in ended if x.failure]
        late = [x for x in ended if not x.failure and x.latency_s > self._late_s]
        return Outage(
            failed=len(failed),
            late=len(late),
            last_bad_after_s=max((x.done_s - since_s for x in failed + late), default=0.0),
            slowest_s=max((x.latency_s for x in ended), default=0.0),
            reasons=dict(sorted(Counter(x.failure for x in failed).items())),
        )

    def _empty(self) -> list[LaneTally]:
        return [LaneTally() for _ in range(self._lanes)]
