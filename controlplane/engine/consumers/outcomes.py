"""What applications' clients tell about their requests: sums since the start, in memory.

Filled by `POST /v1/outcomes`, read by `GET /v1/outcomes` and the metrics. No decision reads the
sums: a client sees its own requests only, so its counts are no sample of a service. Health reads
each report as it comes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What became of a request, or of an instance in one client's eyes."""

    SERVED = "served"
    ERROR = "error"
    TIMEOUT = "timeout"
    EJECTED = "ejected"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A cluster of a service in a data centre; `cluster` is "" where it has no name."""

    service: str
    datacenter: str
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Sums of one place; `last_s` is when a client told something."""

    counts: Mapping[Outcome, int]
    last_s: float


class Outcomes:
    """Sums by place. Places are those of the declared fleet, so there are only so many."""

    def __init__(self) -> None:
        self._told: dict[Place, Told] = {}
        self.totals: Counter[Outcome] = Counter()

    def add(self, place: Place, counts: Mapping[Outcome, int], now_s: float) -> None:
        """Take what one client counted at a place."""
        before = self._told.get(place, Told(counts={}, last_s=now_s)).counts
        summed = {one: before.get(one, 0) + counts.get(one, 0) for one in Outcome}
        self._told[place] = Told(counts=summed, last_s=now_s)
        self.totals.update(counts)

    def told(self) -> list[tuple[Place, Told]]:
        """Everything, by place."""
        return sorted(self._told.items(), key=lambda pair: pair[0])
