"""JSON values as the types that they must have: how everything that comes from outside is read.

Called by `storage` for model.json and by `reports.encoding` for report.json. A value of another
type, a number that no float holds, and text that no terminal or page shows are refused.
"""

import dataclasses
import json
import math
import types
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

# Larger ones lose digits where numbers are floats, as in a browser.
MOST_COUNT = 2**53
MAX_ITEMS = 2_000
# The words of a failed check are a few hundred characters.
MOST_TEXT = 10_000


def loaded(body: bytes) -> Any:
    """Parse JSON; NaN and Infinity are none.

    Raises:
        ValueError, RecursionError.
    """
    return json.loads(body, parse_constant=_refuse)


def read(kind: Any, value: Any, place: str) -> Any:
    """`value` as `kind`: a dataclass, tuple, dict, union or plain type.

    A field with a default may be missing. Numbers become floats where floats are wanted.

    Raises:
        ValueError: it has another type; KeyError: a field is missing.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return kind(**_fields(kind, value, place))
    origin = get_origin(kind)
    if origin is tuple:
        return tuple(read(get_args(kind)[0], one, place) for one in _sized(value, list, place))
    if origin is dict:
        items = _sized(value, dict, place).items()
        return {
            _plain((str,), key, place): read(get_args(kind)[1], one, place) for key, one in items
        }
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), value, place)
    return _plain((kind,), value, place)


def _fields(kind: type[Any], value: Any, place: str) -> dict[str, Any]:
    hints = get_type_hints(kind)
    fields = _sized(value, dict, place)
    return {
        field.name: read(hints[field.name], fields[field.name], f"{place}.{field.name}")
        for field in dataclasses.fields(kind)
        if field.name in fields or field.default is dataclasses.MISSING
    }


def _sized(value: Any, kind: type[Any], place: str) -> Any:
    if not isinstance(value, kind) or len(value) > MAX_ITEMS:
        raise _wrong(value, place)
    return value


def _read_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    real = tuple(kind for kind in kinds if kind is not types.NoneType)
    if value is None and len(real) < len(kinds):
        return None
    return read(real[0], value, place) if len(real) == 1 else _plain(real, value, place)


def _plain(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(_float(value)):
            raise _wrong(value, place)
        return float(value)
    if type(value) not in kinds or (isinstance(value, int) and abs(value) > MOST_COUNT):
        raise _wrong(value, place)
    # Half of a surrogate pair is a string to JSON, and to nothing that writes it; a terminal must
    # not be steered by a name.
    if isinstance(value, str) and not (len(value) <= MOST_TEXT and value.isprintable()):
        raise _wrong(value, place)
    return value


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no finite number")


def _wrong(value: Any, place: str) -> ValueError:
    try:
        shown = repr(value)
    except ValueError:  # An integer of thousands of digits.
        shown = "a giant number"
    return ValueError(f"{place} has a value that does not belong there: {shown[:40]}")
