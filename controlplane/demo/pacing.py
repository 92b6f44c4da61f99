"""Keeps the common rate of all lanes at the agreed utilisation of the equal split.

The hotter centre of the equal lane shall be busy to 0.80 in the mean of the comparison. Hash
tables put a percent more or less of the requests there, so the rate is set from what was
measured; it is common to all lanes and decides nothing between them.
"""

from dataclasses import dataclass

LARGEST_TRIM = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Rate and the utilisation that it gave.

    Attributes:
        background: mean share of the batch load, 0..1.
        target: wanted mean utilisation, 0..1.
    """

    background: float
    target: float

    def rate_rps(self, measured_rate_rps: float, measured_utilization: float) -> float:
        """The rate that gives the target, when requests load a centre in proportion."""
        own = max(measured_utilization - self.background, 0.05)
        return measured_rate_rps * (self.target - self.background) / own

    def trim(self, mean: float, load: float, coming: float, done: float) -> float:
        """The factor on the rate for the rest of a comparison.

        Args:
            mean: utilisation so far (0..1), over whole periods of the batch load.
            load: mean of trace shape times factor so far, > 0.
            coming: mean of the trace's shape in the rest, > 0.
            done: share of the comparison's time that has passed, 0 < done < 1.
        """
        wanted = (self.target - mean * done) / (1 - done) - self.background
        own_per_load = max(mean - self.background, 0.05) / load
        return min(1 + LARGEST_TRIM, max(1 - LARGEST_TRIM, wanted / (own_per_load * coming)))
