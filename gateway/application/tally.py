"""What became of an application's requests, counted until it is reported.

Filled by `directory`, emptied by `reporting`. Counts only: which request failed is the
application's own to log.
"""

import threading
from collections import Counter
from enum import StrEnum

from controlplane.domain.instances.placement import Instance


class Outcome(StrEnum):
    """What became of a request, or of an instance; an abandoned request says nothing."""

    SERVED = "served"
    ERROR = "error"
    TIMEOUT = "timeout"
    ABANDONED = "abandoned"
    EJECTED = "ejected"
    RETURNED = "returned"


# Service, data centre, cluster.
Place = tuple[str, str, str]


class Tally:
    """Counts by place and outcome."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[Place, Outcome]] = Counter()

    def add(self, service: str, instance: Instance, outcome: Outcome) -> None:
        """Count one."""
        if outcome is not Outcome.ABANDONED:
            with self._lock:
                place = (service, instance.datacenter, instance.cluster)
                self._counts[place, outcome] += 1

    def drain(self) -> dict[Place, dict[Outcome, int]]:
        """Everything since the last call."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        found: dict[Place, dict[Outcome, int]] = {}
        for (place, outcome), count in sorted(counts.items()):
            found.setdefault(place, {})[outcome] = count
        return found

    def put_back(self, counts: dict[Place, dict[Outcome, int]]) -> None:
        """Counts that could not be reported."""
        with self._lock:
            for place, by_outcome in counts.items():
                for outcome, count in by_outcome.items():
                    self._counts[place, outcome] += count
