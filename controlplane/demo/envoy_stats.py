"""Request counts and response times per service and data centre, read from Envoy's admin interface.

Called by the collector. Envoy keeps `cluster.NAME.zone.LOCAL.ZONE.*` statistics when its bootstrap
names `node.locality.zone` and the endpoints' locality names a zone (here: the data centre). Its
bootstrap must also set `stats_flush_on_admin: true`, or the histograms are up to five seconds old.
Never changes anything in Envoy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

FLUSH_PATH = "/stats?filter=%5Enothing%24"
"""Ask for it a moment before `STATS_PATH`: with `stats_flush_on_admin` a question starts the merge
of the workers' histograms, but is itself answered from the merge before.
"""
FLUSH_S = 0.02
STATS_PATH = "/stats?format=json&histogram_buckets=detailed&filter=%5C.zone%5C."
"""`detailed` gives the bins as recorded (two significant digits) with their totals since the
start.
"""

_NAME = re.compile(
    r"cluster\.(?P<cluster>.+)\.zone\.(?P<local>[^.]+)\.(?P<zone>[^.]+)"
    r"\.upstream_rq_(?P<what>completed|5xx|time)"
)

Bin = tuple[float, float]
"""Lower bound and width in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneCounts:
    """What Envoy saw of one service in one data centre, since its start or, after `since`, between
    two readings.
    """

    completed: int = 0
    errors: int = 0
    times: Mapping[Bin, int] = field(default_factory=dict)

    def since(self, older: ZoneCounts) -> ZoneCounts:
        """What was added since an older reading; all of it when Envoy started anew in between."""
        if self.completed < older.completed:
            return self
        added = {key: count - older.times.get(key, 0) for key, count in self.times.items()}
        return ZoneCounts(
            completed=self.completed - older.completed,
            errors=self.errors - older.errors,
            times={key: count for key, count in added.items() if count > 0},
        )

    def mean_ms(self) -> float | None:
        """Mean response time; within a percent, since the times are known to two digits. None
        without requests.
        """
        total = sum(self.times.values())
        if not total:
            return None
        return (
            sum((low + width / 2.0) * count for (low, width), count in self.times.items()) / total
        )

    def quantile_ms(self, share: float) -> float | None:
        """The time below which `share` (0..1) of the requests ended; None without requests."""
        wanted, seen = share * sum(self.times.values()), 0
        for (low, width), count in sorted(self.times.items()):
            seen += count
            if seen >= wanted:
                return low + width / 2.0
        return None


def parse(body: bytes) -> dict[tuple[str, str], ZoneCounts]:
    """Read the answer to `STATS_PATH` by (cluster, zone); both are written as Envoy writes them in
    statistics.
    """
    counters: dict[tuple[str, str], dict[str, int]] = {}
    times: dict[tuple[str, str], dict[Bin, int]] = {}
    for entry in orjson.loads(body)["stats"]:
        if "histograms" in entry:
            for histogram in entry["histograms"].get("details", []):
                if (found := _NAME.fullmatch(histogram["name"])) and found["what"] == "time":
                    times[found["cluster"], found["zone"]] = _bins(histogram["totals"])
        elif (found := _NAME.fullmatch(entry["name"])) and found["what"] != "time":
            counters.setdefault((found["cluster"], found["zone"]), {})[found["what"]] = int(
                entry["value"]
            )
    return {
        key: ZoneCounts(
            completed=counted.get("completed", 0),
            errors=counted.get("5xx", 0),
            times=times.get(key, {}),
        )
        for key, counted in counters.items()
    }


def _bins(totals: list[dict[str, float]]) -> dict[Bin, int]:
    return {(x["lower_bound"], x["width"]): int(x["count"]) for x in totals}
