"""Answers of /api/v1/query_range to readings of each center.

An answer must be a matrix with one series for each center. Series of other services or centers
are left out and counted; two series of one center say that the query does not aggregate, and
neither counts.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

import orjson

from controlplane.domain.errors import Invalid
from training.dataset_text import number
from training.importers.account import Reason
from training.importers.mapping import Ranges, Reading
from training.importers.recorded import Collection
from training.importers.times import EARLIEST_S, LATEST_S, moment

_MOST_WORDS = 200
_MOST_LABEL = 60

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whose answer it is.

    Attributes:
        source: of errors: the file, or the query and its range.
        centers: names that count.
    """

    reading: Reading
    ranges: Ranges
    centers: tuple[str, ...]
    source: str


def take_answer(body: bytes, asked: Asked, into: Collection) -> None:
    """Read one answer.

    Raises:
        Invalid: `source_answer_unreadable`, `source_query_refused`.
    """
    by_center: dict[str, list[Points]] = defaultdict(list)
    for at, item in enumerate(_series(body, asked)):
        name = _center(item, at, asked, into)
        if name:
            by_center[name].append(_points(item, at, asked))
    for name, found in by_center.items():
        if len(found) > 1:
            words = f"{len(found)} series: aggregate by service and data center"
            into.account.add(Reason.SERIES_TWICE, f"{asked.source} {name}", words)
            continue
        _take(name, found[0], asked, into)


def _take(name: str, points: Points, asked: Asked, into: Collection) -> None:
    series = into.of(name, asked.reading)
    for time_s, value in points:
        into.account.rows += 1
        if not EARLIEST_S <= time_s <= LATEST_S:
            words = f"{time_s:g} is not a time between 2000 and 2100"
            into.account.add(Reason.TIME_UNREADABLE, f"{asked.source} {name}", words)
        elif words := into.take(series, time_s, value):
            place = f"{asked.source} {name} at {moment(time_s)}"
            into.account.add(Reason.VALUE_IMPOSSIBLE, place, words)


def _series(body: bytes, asked: Asked) -> list[object]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        words = f"line {error.lineno} column {error.colno}: {error.msg}"
        raise unreadable(asked.source, f"it is not JSON: {words}") from error
    if not isinstance(content, dict):
        raise unreadable(asked.source, "it is not an object")
    if content.get("status") != "success":
        words = f"{asked.source}: {str(content.get('error', 'no reason given'))[:_MOST_WORDS]}"
        raise Invalid("source_query_refused", words)
    data = content.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    series = data.get("result") if isinstance(data, dict) else None
    if kind != "matrix" or not isinstance(series, list):
        raise unreadable(asked.source, f"it is a {kind!s:.20}; range data are a matrix")
    return series


def _center(item: object, at: int, asked: Asked, into: Collection) -> str:
    """Whom a series is about; "" leaves it out."""
    ranges = asked.ranges
    labels = item.get("metric") if isinstance(item, dict) else None
    if not isinstance(labels, dict):
        raise unreadable(asked.source, f"series {at + 1} has no labels")
    service = str(labels.get(ranges.service_label, ""))[:_MOST_LABEL]
    center = str(labels.get(ranges.datacenter_label, ""))[:_MOST_LABEL]
    if (ranges.service and service != ranges.service) or center not in asked.centers:
        words = (
            f"{ranges.service_label}={service!r}, {ranges.datacenter_label}={center!r} is not in "
            "the mapping"
        )
        into.account.add(Reason.SERIES_UNKNOWN, f"{asked.source} series {at + 1}", words)
        return ""
    return center


def _points(item: object, at: int, asked: Asked) -> Points:
    values = item.get("values") if isinstance(item, dict) else None
    if not isinstance(values, list):
        raise unreadable(asked.source, f"series {at + 1} has no values (native histograms do not)")
    try:
        return [(_finite(time_s), _value(value)) for time_s, value in values]
    except (TypeError, ValueError) as error:
        raise unreadable(
            asked.source, f"series {at + 1} has a point that is none: {error}"
        ) from error


def _finite(time_s: object) -> float:
    if not isinstance(time_s, int | float) or not math.isfinite(time_s):
        raise TypeError(f"its time is {time_s!r}")
    return float(time_s)


def _value(text: object) -> float:
    if not isinstance(text, str):
        raise TypeError(f"its value is {text!r:.40}, and no text")
    return number(text)


def unreadable(source: str, problem: str) -> Invalid:
    """The error of an answer of another shape."""
    return Invalid("source_answer_unreadable", f"{source}: the answer cannot be read: {problem}")
