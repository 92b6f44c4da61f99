"""What an import was told: which column or query is which metric of which center.

Made by `mapping_file` from TOML. Paths are absolute, units are known, names are unique.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from training.importers.times import TimeFormat
from training.importers.units import Kind


class Combine(StrEnum):
    """How several values of one period become one."""

    MEAN = "mean"
    MAX = "max"
    LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One metric of one center, or of all centers when a query tells them apart.

    Attributes:
        factor: to the metric's own unit, > 0.
        column: of the CSV files; or
        query: PromQL, asked of the server; or neither, and `files` are its answers.
        files: CSV files, or answers of /api/v1/query_range.
    """

    metric: str
    factor: float
    unit: str
    kind: Kind
    combine: Combine
    column: str = ""
    query: str = ""
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Center:
    """One data center and its columns.

    Attributes:
        where: column -> text that a row must have there to be about this center.
    """

    name: str
    readings: tuple[Reading, ...] = ()
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """How the CSV files are written."""

    time_column: str
    time: TimeFormat
    delimiter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """Range data of a Prometheus.

    Attributes:
        service: of the label; "" takes series of any service.
        url: up to the path before `/api/v1`; "" where all readings have files.
        start_s, end_s: what is asked for, UTC epoch seconds, both ends included.
        token_file: a bearer token for `url`.
    """

    readings: tuple[Reading, ...]
    service: str = ""
    service_label: str = "service"
    datacenter_label: str = "datacenter"
    url: str = ""
    start_s: float = 0.0
    end_s: float = 0.0
    token_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """One import.

    Attributes:
        period_s: of the rows to be made, > 0.
        phase_s: periods end at whole multiples of `period_s` plus this, 0 <= phase < period.
        centers: primary first, two or more.
        fixed_ratio: the primary's share of two all the time; None: it was recorded, or observed.
        hold_ratio: a recorded ratio is in force until the next record.
    """

    period_s: float
    phase_s: float
    centers: tuple[Center, ...]
    table: Table
    ranges: Ranges | None = None
    fixed_ratio: float | None = None
    hold_ratio: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read; one of several metrics is in it more than once."""
        of_all = self.ranges.readings if self.ranges else ()
        readings = (*of_all, *(one for center in self.centers for one in center.readings))
        return tuple(path for reading in readings for path in reading.files)
