"""Whether cycles are on time: those that were settled too late, and those that never came.

The loop asks it about each timer cycle; `late` is read by /metrics and status. A cycle is late
when what it decided was not settled before the next one was due, or when the calendar was held up
for so long that it skipped it.
"""

from collections.abc import Iterable

import structlog

from controlplane.engine.pokes import Poke

log = structlog.get_logger(__name__)


class Punctuality:
    """Counts late cycles.

    Args:
        cycle_s: between two cycles, in seconds, as the calendar has it.
    """

    def __init__(self, cycle_s: float) -> None:
        self._cycle_s = cycle_s
        self._last_due_s: float | None = None
        self.late = 0

    def settled(self, pokes: Iterable[Poke], now_s: float) -> None:
        """The cycles of these pokes are settled; pokes that are no cycle count nothing."""
        for due_s in sorted(poke.due_s for poke in pokes if poke.due_s is not None):
            slow, skipped = now_s - due_s > self._cycle_s, self._skipped(due_s)
            self.late += slow + skipped
            if slow or skipped:
                log.warning("cycle.late", settled_after_s=round(now_s - due_s, 3), skipped=skipped)

    def _skipped(self, due_s: float) -> int:
        last_s, self._last_due_s = self._last_due_s, due_s
        return 0 if last_s is None else max(0, round((due_s - last_s) / self._cycle_s) - 1)
