"""Times of a fleet document: RFC 3339 outside, UTC epoch seconds inside.

Called by the readers of routes, and by `rendering` for the way back.
"""

import re
from datetime import UTC, datetime

from controlplane.api.fleet_document.reading import Place, text_of

TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
# What `rfc3339` can write: with its zone a time may be in the year 0 or 10000.
EARLIEST_S = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LATEST_S = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def time(place: Place) -> float:
    """A time of RFC 3339 as UTC epoch seconds."""
    text = text_of(place) or ""
    try:
        if TIME.fullmatch(text) is None:
            raise ValueError(text)
        found = datetime.fromisoformat(text.upper()).timestamp()
        if not EARLIEST_S <= found <= LATEST_S:
            raise ValueError(text)
        return found
    except (ValueError, OverflowError):
        place.report("a time with its zone, as 2030-12-31T08:00:00Z")
        return 0.0


def rfc3339(time_s: float) -> str:
    """UTC epoch seconds as `time` reads them."""
    return datetime.fromtimestamp(time_s, UTC).isoformat().replace("+00:00", "Z")
