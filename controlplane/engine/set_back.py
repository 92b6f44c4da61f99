"""A clock that is set back while the process runs: by how much, by the time that really passed.

Owned by whoever keeps times of the wall clock beside which something lasts: ramps and expiries of
intents, holds of alerts, the quiet time before a failback. With it they move along, so that what
lasts a minute lasts no hour. A clock that is set forward is not told of: what is over is over.
"""

import time
from collections.abc import Callable

# Clocks that are kept right by slewing lose a part of a second at most between two looks.
TOLERANCE_S = 1.0


class SetBack:
    """Compares the wall clock with one that nobody sets.

    Args:
        now: UTC epoch seconds. passed: seconds of a clock that only rises.
    """

    def __init__(
        self, now: Callable[[], float], passed: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._passed = passed
        self._seen = (now(), passed())

    def since_last_s(self) -> float:
        """By how much it was set back since the last call; 0 is not at all."""
        (now_s, passed_s), seen = self._seen, (self._now(), self._passed())
        self._seen = seen
        lost_s = (seen[1] - passed_s) - (seen[0] - now_s)
        return lost_s if lost_s > TOLERANCE_S else 0.0
