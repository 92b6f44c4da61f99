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
    except (ValueError, KeyError, TypeError, RecursionError) as error:
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
        _expect(isinstance(value, list) and len(value) <= MAX_ITEMS, value, place)
        return tuple(_read(get_args(kind)[0], one, place) for one in value)
    if origin is dict:
        _expect(isinstance(value, dict) and len(value) <= MAX_ITEMS, value, place)
        return {str(key): _read(get_args(kind)[1], one, place) for key, one in value.items()}
    if origin in (Union, types.UnionType):
        return _plain(get_args(kind), value, place)
    return _plain((kind,), value, place)


def _plain(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    if isinstance(value, bool):
        _expect(bool in kinds, value, place)
        return value
    if isinstance(value, int | float) and float in kinds:
        number = float(value)
        _expect(math.isfinite(number), value, place)
        return number
    _expect(isinstance(value, tuple(kind for kind in kinds if kind is not float)), value, place)
    return value


def _expect(holds: bool, value: Any, place: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        raise ValueError(f"{place} has a value that does not belong there: {str(value)[:40]}")
