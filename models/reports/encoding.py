"""A report as canonical JSON, and back; what comes from outside is checked against the types."""

import dataclasses
import json
import math
import types
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from models.artifact import canonical
from models.errors import ArtifactError
from models.reports.report import Report

FORMAT = 1
# Five strategies' figures and points are 150 KiB.
MAX_BYTES = 512 * 1024
MAX_ITEMS = 2_000
# Larger ones lose digits where numbers are floats, as in a browser.
MOST_COUNT = 2**53


def encode(report: Report) -> bytes:
    """The bytes of report.json; the same report gives the same bytes.

    Raises:
        ArtifactError: a number is not finite.
    """
    return canonical({"format": FORMAT, **dataclasses.asdict(report)})


def decode(body: bytes) -> Report:
    """Read what `encode` wrote.

    Raises:
        ArtifactError: too large, no JSON, of another format, or a value has another type.
    """
    if len(body) > MAX_BYTES:
        raise ArtifactError(f"report.json has {len(body)} bytes, at most {MAX_BYTES} allowed")
    try:
        content = json.loads(body, parse_constant=_refuse)
        if content["format"] != FORMAT:
            raise ArtifactError(f"report.json has format {content['format']!r}, not {FORMAT}")
        report: Report = _read(Report, content, "report")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, ArtifactError):
            raise
        raise ArtifactError(f"report.json does not describe a report: {error!r}") from error
    return report


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no finite number")


def _read(kind: Any, value: Any, place: str) -> Any:
    """`value` as `kind`: a dataclass, tuple, dict, union or plain type of a report."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        return kind(**{name: _read(hints[name], value[name], f"{place}.{name}") for name in names})
    origin = get_origin(kind)
    if origin is tuple:
        return tuple(_read(get_args(kind)[0], one, place) for one in _sized(value, list, place))
    if origin is dict:
        items = _sized(value, dict, place).items()
        return {
            _plain((str,), key, place): _read(get_args(kind)[1], one, place) for key, one in items
        }
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), value, place)
    return _plain((kind,), value, place)


def _sized(value: Any, kind: type[Any], place: str) -> Any:
    if not isinstance(value, kind) or len(value) > MAX_ITEMS:
        raise _wrong(value, place)
    return value


def _read_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    real = tuple(kind for kind in kinds if kind is not types.NoneType)
    if value is None and len(real) < len(kinds):
        return None
    return _read(real[0], value, place) if len(real) == 1 else _plain(real, value, place)


def _plain(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(float(value)):
            raise _wrong(value, place)
        return float(value)
    if type(value) not in kinds or (isinstance(value, int) and abs(value) > MOST_COUNT):
        raise _wrong(value, place)
    if isinstance(value, str):
        # Half of a surrogate pair is a string to JSON, and to nothing that writes it.
        value.encode()
    return value


def _wrong(value: Any, place: str) -> ValueError:
    return ValueError(f"{place} has a value that does not belong there: {str(value)[:40]}")
