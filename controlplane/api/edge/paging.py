"""Pages of lists: `limit` says how many, `cursor` where the page before ended.

Called by every resource that lists. A cursor holds the sort key of the last item, so items that
come or go meanwhile neither repeat nor hide others. To callers it is opaque.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from controlplane.api.wire.values import sendable
from controlplane.domain.errors import Invalid

T = TypeVar("T")

# Part of a sort key; an order that begins with the newest negates its number.
Part = str | float
Key = tuple[Part, ...]

MOST_ITEMS = 1_000
LARGEST_NUMBER = 2.0**53

Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="At most so many.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next` of the page before; none at first.")
]


def behind(cursor: str | None, kinds: tuple[type[Part], ...]) -> Key | None:
    """The key that a cursor holds, None without a cursor.

    Args:
        kinds: of the key's parts; a number is a float.

    Raises:
        Invalid: `cursor_invalid`; it is none of this list.
    """
    if cursor is None:
        return None
    try:
        parts = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != len(kinds):
        raise _unknown(cursor)
    if not all(_fits(part, kind) for part, kind in zip(parts, kinds, strict=True)):
        raise _unknown(cursor)
    return tuple(parts)


def moment(cursor: str | None) -> tuple[float, str] | None:
    """The (time, id) that a cursor of a list by time holds."""
    key = behind(cursor, (float, str))
    return None if key is None else (float(key[0]), str(key[1]))


def cursor_at(key: Key) -> str:
    """The cursor of the page that begins behind a key."""
    return base64.b64encode(json.dumps(key).encode(), altchars=b"-_").decode()


def cut(found: Sequence[T], limit: int, key: Callable[[T], Key]) -> tuple[Sequence[T], str | None]:
    """A page from one item more than it takes, and the cursor of the next, None at the end."""
    page = found[:limit]
    return page, cursor_at(key(page[-1])) if len(found) > limit else None


def page_of(
    items: Sequence[T], key: Callable[[T], Key], limit: int, cursor: str | None
) -> tuple[Sequence[T], str | None]:
    """A page of a whole list, which is put in the order of its keys; each key occurs once."""
    ordered = sorted(items, key=key)
    kinds = tuple(type(part) for part in key(ordered[0])) if ordered else ()
    after = behind(cursor, kinds) if ordered else None
    rest = ordered if after is None else [item for item in ordered if key(item) > after]
    return cut(rest, limit, key)


def _fits(part: object, kind: type[Part]) -> bool:
    if kind is str:
        return isinstance(part, str) and part == sendable(part)
    if not isinstance(part, int | float) or isinstance(part, bool):
        return False
    return abs(part) <= LARGEST_NUMBER


def _unknown(cursor: str) -> Invalid:
    return Invalid(
        "cursor_invalid",
        f"the cursor {cursor[:80]!r} is none of this list; give `next` of the page before",
    )
