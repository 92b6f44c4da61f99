"""Readings as they were recorded: times and values of each metric of each center.

Filled by the two sources, read by `resampling`. Values have the metric's own unit; counters and
counts are amounts still.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from training.dataset_text import most_of
from training.importers.account import Account, Reason
from training.importers.mapping import Reading
from training.importers.units import SHARES, Kind

FloatArray = NDArray[np.float64]

# Center and metric.
Key = tuple[str, str]
# What is being read, and how far it is, 0..1.
Tell = Callable[[str, float], None]

# Six million rows of eight metrics are half a gigabyte.
MOST_VALUES = 60_000_000
# A core that was busy for 100.3 % of a second is a matter of clocks, not of units.
_CLIPPED = 1.05
# A counter of 64 bits, in bits of bytes; sums of many are still exact enough.
_MOST_AMOUNT = 1e21


@dataclass(slots=True, eq=False)
class Recorded:
    """One metric of one center, in the order of its source."""

    reading: Reading
    time_s: "array[float]" = field(default_factory=lambda: array("d"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    impossible: int = 0

    def arrays(self) -> tuple[FloatArray, FloatArray]:
        """Times and values, each (n,), in order of time."""
        time_s = np.frombuffer(self.time_s, dtype=np.float64)
        value = np.frombuffer(self.value, dtype=np.float64)
        order = np.argsort(time_s, kind="stable")
        return time_s[order], value[order]


@dataclass(slots=True, eq=False)
class Collection:
    """Everything that was read, and the account of it."""

    account: Account = field(default_factory=Account)
    most_values: int = MOST_VALUES
    series: dict[Key, Recorded] = field(default_factory=dict)
    _values: int = 0

    def of(self, center: str, reading: Reading) -> Recorded:
        """The series of a reading, empty at first."""
        return self.series.setdefault((center, reading.metric), Recorded(reading=reading))

    def take(self, series: Recorded, time_s: float, value: float) -> str:
        """Keep one value; what is wrong with it, "" when nothing is. NaN is missing."""
        if value != value:
            self.account.missing += 1
            return ""
        reading = series.reading
        scaled = value * reading.factor
        share = reading.metric in SHARES
        if not 0.0 <= scaled <= _most(reading):
            series.impossible += 1
            return _impossible(reading, value)
        if share and scaled > 1.0:
            self.account.counts[Reason.SHARE_CLIPPED] += 1
            scaled = 1.0
        self._values += 1
        if self._values > self.most_values:
            raise Invalid(
                "import_too_large",
                f"there are more than {self.most_values} values: import a part of the time, "
                "or coarser data",
            )
        series.time_s.append(time_s)
        series.value.append(scaled)
        return ""

    def refuse_wrong_units(self) -> None:
        """Raise Invalid when most values of a series are impossible: its unit is wrong."""
        for (center, metric), series in sorted(self.series.items()):
            if series.impossible > len(series.value):
                raise Invalid(
                    "import_unit",
                    f"{center} {metric}: {series.impossible} of "
                    f"{series.impossible + len(series.value)} values are impossible with the unit "
                    f"{series.reading.unit}: correct the unit in the mapping",
                )


def _most(reading: Reading) -> float:
    if reading.kind is not Kind.GAUGE:
        return _MOST_AMOUNT
    return _CLIPPED if reading.metric in SHARES else most_of(reading.metric)


def _impossible(reading: Reading, value: float) -> str:
    shares = reading.metric in SHARES
    limit = "0 to 100 %" if shares else f"0 to {_most(reading) / reading.factor:g}"
    kind = "" if reading.kind is Kind.GAUGE else f" ({reading.kind})"
    return f"{reading.metric}{kind}: {value:g} {reading.unit} is impossible, it must be {limit}"
