"""Routes: which requests go to which service.

For now a route matches a host and a path (exact, prefix by segment, or a regular expression over
the whole path) and names a service; conditions, other actions and the radix tree extend these
values. Read by the snapshot and by each data plane's compiler.
"""

from dataclasses import dataclass
from enum import StrEnum

# What stands for itself in a regular expression.
_LITERALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_~%&=:,;@!'")
_REPETITIONS = frozenset("*?{")


class PathMatchType(StrEnum):
    """Kubernetes Gateway API's names: `PathPrefix` matches whole segments, `RegularExpression`
    the whole path without the query, in RE2's syntax."""

    EXACT = "Exact"
    PATH_PREFIX = "PathPrefix"
    REGULAR_EXPRESSION = "RegularExpression"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMatch:
    """A path rule. `value` begins with `/`; a prefix other than `/` does not end with `/`."""

    type: PathMatchType = PathMatchType.PATH_PREFIX
    value: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One rule; `*` is every host.

    An exact path wins, then the longest prefix, then a regular expression; among several of
    these the first by id.
    """

    id: str
    service: str
    path: PathMatch = PathMatch()
    hosts: tuple[str, ...] = ("*",)


def literal_start(expression: str) -> str:
    """Text that every path which a regular expression matches begins with; "" when unknown.

    It may be shorter than the longest such text, never longer.
    """
    if "|" in expression:
        return ""
    length = 0
    while length < len(expression) and expression[length] in _LITERALS:
        length += 1
    if length < len(expression) and expression[length] in _REPETITIONS:
        length -= 1
    return expression[: max(length, 0)]
