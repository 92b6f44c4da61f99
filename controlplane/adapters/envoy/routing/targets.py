"""Patterns of paths as one regular expression over a whole target, which may have a query.

Called by `tree`. A route compares the path alone, a matcher the `:path` header with its query; what
the expression matches must be exact, because the list behind it is final.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from controlplane.domain.radix.pattern import Pattern

_PARAMETER = r"/[^/?]+"
_FURTHER_SEGMENTS = r"(?:/[^?]*)?"
_QUERY = r"(?:\?.*)?"


def of_targets(patterns: Iterable[Pattern]) -> str:
    """Matches a target whose path one of the patterns matches; what they share is written once."""
    return f"{_one_of([tuple(_pieces(rule)) for rule in patterns])}{_QUERY}"


def _pieces(rule: Pattern) -> Iterator[str]:
    for segment in rule.segments:
        yield _PARAMETER if segment is None else f"/{re.escape(segment)}"
    if not rule.whole:
        # The prefix of every path has no segments.
        yield _FURTHER_SEGMENTS if rule.segments else "/[^?]*"


def _one_of(paths: Sequence[tuple[str, ...]]) -> str:
    further: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in filter(None, paths):
        further.setdefault(first, []).append(tuple(rest))
    choices = [f"{first}{_one_of(rest)}" for first, rest in further.items()]
    if () in paths:
        choices.append("")
    return choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"
