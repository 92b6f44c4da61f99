"""What an import took, what it left out, and why: counts by reason, and the first examples.

Filled by every step of an import. One bad row, series or period counts once; what is left out is
left out alone.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

# A million bad rows are not a million lines; the counts have them all.
MOST_EXAMPLES = 5


class Reason(StrEnum):
    """Why something was left out, or changed."""

    ROW_SHORT = "row_short"
    TIME_UNREADABLE = "time_unreadable"
    VALUE_UNREADABLE = "value_unreadable"
    VALUE_IMPOSSIBLE = "value_impossible"
    SHARE_CLIPPED = "share_clipped"
    TIME_TWICE = "time_twice"
    SERIES_TWICE = "series_twice"
    SERIES_UNKNOWN = "series_unknown"
    COUNTER_RESET = "counter_reset"
    COUNT_PARTIAL = "count_partial"
    PERIOD_EMPTY = "period_empty"
    LOAD_MISSING = "load_missing"
    RATIO_MISSING = "ratio_missing"
    LABEL_MISSING = "label_missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One example.

    Attributes:
        place: file, line and column; or the series; or the period.
    """

    reason: Reason
    place: str
    message: str


@dataclass(slots=True)
class Account:
    """The counts of one import.

    Attributes:
        rows: rows of files, and points of series, that were read.
        missing: cells that were empty or not-a-number; they stay missing.
    """

    rows: int = 0
    missing: int = 0
    counts: Counter[Reason] = field(default_factory=Counter)
    examples: list[Finding] = field(default_factory=list)
    _told: Counter[Reason] = field(default_factory=Counter)

    def add(self, reason: Reason, place: str, message: str, count: int = 1) -> None:
        """One finding about `count` items that follow each other."""
        self.counts[reason] += count
        self._told[reason] += 1
        if self._told[reason] <= MOST_EXAMPLES:
            self.examples.append(Finding(reason=reason, place=place, message=message))
