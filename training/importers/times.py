"""What a cell says about time, as UTC epoch seconds.

Called by the importers for each row. A time without an offset is of the declared zone. Where the
clocks of a zone are set, an hour stands for two times or for none; no guess is made there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

RFC3339, EPOCH_S, EPOCH_MS = "rfc3339", "epoch_s", "epoch_ms"
# Year 2000 to 2100: milliseconds read as seconds, or the reverse, are far outside.
EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0
_PER_S = {EPOCH_S: 1.0, EPOCH_MS: 1000.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFormat:
    """How times are written.

    Attributes:
        pattern: `rfc3339` (also with a blank for the T, also without offset), `epoch_s`,
            `epoch_ms`, or a pattern of `strptime` with its % signs.
        zone: of times without an offset.
        shift_s: added to each time; for a recorder whose clock was off.
        earliest_s: times before are refused, UTC epoch seconds.
    """

    pattern: str = RFC3339
    zone: tzinfo = UTC
    shift_s: float = 0.0
    earliest_s: float = EARLIEST_S


def reader(form: TimeFormat) -> Callable[[str], float]:
    """The function that reads one cell; it raises ValueError with words for people."""
    written = _number(form) if form.pattern in _PER_S else _clock(form)

    def read(cell: str) -> float:
        time_s = written(cell.strip()) + form.shift_s
        if not form.earliest_s <= time_s <= LATEST_S:
            raise ValueError(f"{cell!r} is not a time between 2000 and 2100: look at the format")
        return time_s

    return read


def moment(time_s: float) -> str:
    """RFC 3339 in UTC, as messages tell a time."""
    return datetime.fromtimestamp(time_s, UTC).isoformat().replace("+00:00", "Z")


def _number(form: TimeFormat) -> Callable[[str], float]:
    per_s = _PER_S[form.pattern]

    def read(cell: str) -> float:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{cell!r} is not a number of seconds or milliseconds")
        return value / per_s

    return read


def _clock(form: TimeFormat) -> Callable[[str], float]:
    def read(cell: str) -> float:
        try:
            if form.pattern == RFC3339:
                moment = datetime.fromisoformat(cell)
            else:
                moment = datetime.strptime(cell, form.pattern)  # noqa: DTZ007  the zone comes below
        except ValueError as error:
            raise ValueError(f"{cell!r} is not written as {form.pattern}") from error
        if moment.tzinfo is None:
            moment = _placed(moment, form.zone)
        return moment.timestamp()

    return read


def _placed(moment: datetime, zone: tzinfo) -> datetime:
    first = moment.replace(tzinfo=zone, fold=0)
    if first.utcoffset() != moment.replace(tzinfo=zone, fold=1).utcoffset():
        raise ValueError(
            f"{moment.isoformat(' ')} is twice or never in {zone}, where clocks were set: "
            "write times with their offset, or in UTC"
        )
    return first
