"""Ids for routes whose file gives none: readable, within a name's length, never two alike.

Called by the readers. An id depends on what its own item says, not on the order of the items, so
that the same API imported again changes the routes that it made before.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.api.fleet_document.lookalikes import forms

LONGEST = 63
DIGITS = 8
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_FIRST = re.compile(r"[^A-Za-z0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An id that would be nice, and the text that makes this item unlike all others."""

    name: str
    seed: str


def of_path(path: str) -> str:
    """A path as part of an id: `/users/{id}/orders` gives `users._id.orders`."""
    words = (part.replace("{", "_").replace("}", "") for part in path.split("/") if part)
    return ".".join(words) or "root"


def of_text(text: str) -> str:
    """The text with what no name may have replaced by `-`."""
    word = _OUTSIDE.sub("-", text).strip("-")
    start = _FIRST.match(word)
    return word[start.end() :] if start else word


def unique(wanted: Sequence[Wanted]) -> list[str]:
    """An id for each item, in their order.

    One that is too long, or that a person could take for another's, gets digits of its seed.
    """
    names = [of_text(item.name) or "route" for item in wanted]
    shapes = [forms(name) for name in names]
    exact, outlines = Counter(one for one, _ in shapes), Counter(two for _, two in shapes)
    return [
        name
        if len(name) <= LONGEST and exact[one] == 1 and outlines[two] == 1
        else marked(name, item.seed)
        for name, item, (one, two) in zip(names, wanted, shapes, strict=True)
    ]


def marked(name: str, seed: str) -> str:
    """The name, shortened, with digits of a hash of the seed (32 bits)."""
    digits = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:DIGITS]
    return f"{name[: LONGEST - DIGITS - 1].rstrip('.-_')}-{digits}"
