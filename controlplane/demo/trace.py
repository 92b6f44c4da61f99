"""The recorded arrivals that the demo replays: requests per minute of a real public web site.

Called by the load generator and by the demo. One minute of the trace is one period of the demo. The
shape is the recorded one; only the mean rate is set. Never draws without a seed.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from importlib.resources import files

TRACE = "worldcup98_1998-06-03.csv"
"""See NOTICE.md and WorldCup.html beside it for origin and terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests per minute, consecutive minutes."""

    counts: tuple[int, ...]

    def shape(self, start: int, periods: int) -> tuple[float, ...]:
        """Relative rates of `periods` minutes from `start` on, with mean 1; the trace repeats past
        its end.
        """
        window = [self.counts[(start + k) % len(self.counts)] for k in range(periods)]
        mean = sum(window) / len(window)
        return tuple(x / mean for x in window)


def read_trace(name: str = TRACE) -> Trace:
    """Read a trace shipped in data/traces, with the columns `minute_utc,requests`."""
    lines = (files("data") / "traces" / name).read_text().splitlines()
    return Trace(counts=tuple(int(row["requests"]) for row in csv.DictReader(lines)))


def arrivals(expected: float, period_s: float, draw: random.Random) -> list[float]:
    """Draw the arrival times of one period, sorted, in seconds from its start.

    A Poisson process given its count: `expected` is rounded at random to one of its neighbours and
    that many uniform instants are drawn. The counts of the minutes are recorded facts, so only the
    instants within them are random.
    """
    whole = int(expected)
    count = whole + (draw.random() < expected - whole)
    return sorted(draw.random() * period_s for _ in range(count))


def rate_for_utilisation(
    workers: int, utilisation: float, background: float, demand_s: float
) -> float:
    """Total requests per second of one lane at which half of them keep `workers` busy to
    `utilisation` (0..1).

    `background` is the mean share of the batch load, `demand_s` the mean demand.
    """
    return 2.0 * workers * (utilisation - background) / demand_s
