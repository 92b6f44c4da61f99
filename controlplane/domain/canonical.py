"""Canonical bytes: the same meaning gives the same JSON bytes, and back to typed values.

Used for snapshots, stored fleets and decisions. Keys are sorted, no white space, UTF-8, numbers
as Python writes them shortest; not-a-number has no JSON form and becomes null.
"""

import dataclasses
import functools
import hashlib
import json
import math
import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from controlplane.domain.errors import Invalid

T = TypeVar("T")

# Types that are JSON's own.
PLAIN = frozenset({str, int, bool})


def encode(value: object) -> bytes:
    """Canonical JSON bytes of a frozen dataclass, or of tuples, mappings and plain values."""
    return json.dumps(
        plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def plain(value: object) -> object:
    """The value as JSON's types; fields that are None are left out (of `SPARSE` classes more)."""
    # Most values are these: looking for what else they could be takes longer than all the rest.
    if type(value) in PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told = ((name, getattr(value, name), usual) for name, usual in _shape(type(value)))
        return {name: plain(item) for name, item, usual in told if item not in usual}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# Of a class with an attribute of this name, fields that have their default are left out, too: all
# when it is true, because ten thousand routes are a third of the bytes and of the time then, or
# those that it names, because a field that came later must not change what was published before.
SPARSE = "SPARSE"


@functools.cache
def _shape(kind: Any) -> tuple[tuple[str, tuple[object, ...]], ...]:
    """Each field with the values for which it is left out."""
    sparse = getattr(kind, SPARSE, ())
    named = {f.name for f in dataclasses.fields(kind)} if sparse is True else sparse
    return tuple(
        (f.name, (None, f.default) if f.name in named and _has_default(f) else (None,))
        for f in dataclasses.fields(kind)
    )


def _has_default(one: "dataclasses.Field[Any]") -> bool:
    return one.default is not dataclasses.MISSING


def decode(kind: type[T], data: bytes) -> T:
    """The typed value again from `encode`'s bytes.

    Raises:
        Invalid: the bytes are not JSON, or do not have the shape of `kind`.
    """
    try:
        return _typed(kind, json.loads(data))  # type: ignore[no-any-return]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Invalid(
            "stored_value_unreadable",
            f"cannot read a {kind.__name__} from {len(data)} bytes: {error}",
        ) from error


def _typed(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        return None if value is None else _typed(options[0], value)
    if origin is tuple:
        arguments = get_args(kind)
        if arguments[0] in PLAIN and len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(value)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_typed(arguments[0], item) for item in value)
        return tuple(_typed(k, item) for k, item in zip(arguments, value, strict=True))
    if origin is not None:
        _, item_kind = get_args(kind)
        return {key: _typed(item_kind, item) for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value)
    if kind is float:
        return math.nan if value is None else float(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    return value


# Reading the hints of a class takes longer than reading its value.
_hints = functools.cache(get_type_hints)


def _dataclass(kind: Any, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    if unknown := sorted(value.keys() - _names(kind)):
        raise KeyError(f"unknown fields {unknown}")
    found = {name: _typed(hints[name], item) for name, item in value.items()}
    return kind(**_nones(kind) | found)


@functools.cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(kind))


@functools.cache
def _nones(kind: Any) -> dict[str, None]:
    """Fields without a default that may be None: `encode` leaves them out then."""
    hints = _hints(kind)
    return {
        field.name: None
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
        and type(None) in get_args(hints[field.name])
    }
