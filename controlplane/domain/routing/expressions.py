"""Regular expressions in routes: what they begin with, how large they compile, what they cost.

Each data plane pays for them, so the fleet document bounds them. Called by it and by the compilers.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable

from controlplane.domain.routing.route import PathMatch, PathMatchType, Route

# Instructions of a compiled regular expression that our Envoys take; RE2's default of 100 refuses
# ordinary ones of thirty characters.
LARGEST_PROGRAM = 5_000
# Pairs of a path and a regular expression beside it, for one host.
MOST_CROSSINGS = 50_000
# What stands for itself in a regular expression.
_LITERALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_~%&=:,;@!'")
_REPETITIONS = frozenset("*?{")


def of_template(template: str) -> str:
    """The regular expression of a path template: `/users/{id}` gives `/users/[^/]+`."""
    segments = template.split("/")
    return "/".join("[^/]+" if _is_parameter(part) else re.escape(part) for part in segments)


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


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


def crossings(routes: Iterable[Route]) -> dict[str, int]:
    """Host -> pairs of a path and a regular expression that may match what begins like it.

    Each pair is an entry of what is compiled, so their number is the size of it: 1,000 paths
    beside 300 expressions that may match anything were a gigabyte. Paths below a prefix of the
    same host do not count, because expressions never match there.
    """
    tables: dict[str, list[PathMatch]] = {}
    for route in routes:
        for host in route.hosts:
            tables.setdefault(host, []).append(route.path)
    return {host: _pairs(paths) for host, paths in tables.items()}


def _pairs(paths: Collection[PathMatch]) -> int:
    starts = Counter(
        literal_start(path.value) for path in paths if path.type is PathMatchType.REGULAR_EXPRESSION
    )
    prefixes = {path.value for path in paths if path.type is PathMatchType.PATH_PREFIX}
    plain = {path.value for path in paths if path.type is not PathMatchType.REGULAR_EXPRESSION}
    if "/" in prefixes or not starts:
        return 0
    free = {path for path in plain if not any(above in prefixes for above in _above(path))}
    ordered = sorted(free)
    return sum(count * _alike(start, free, ordered) for start, count in starts.items())


def _above(path: str) -> Iterable[str]:
    """The shorter paths of a path, by whole segments."""
    ends = (at for at in range(1, len(path)) if path[at] == "/")
    return (path[:end] for end in ends)


def _alike(start: str, free: Collection[str], ordered: list[str]) -> int:
    """How many paths begin with the text, or are a beginning of it."""
    under = bisect_left(ordered, f"{start}\x7f") - bisect_left(ordered, start)
    return under + sum(start[:end] in free for end in range(1, len(start)))


# One atom: an escape, the opening of a group, a class, or another character.
_ATOM = re.compile(
    r"\\.|\((?:\?(?:P?<\w+>|[imsU-]*:))?|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|[^\\]", re.DOTALL
)
_COUNT = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def least_program_size(expression: str) -> int:
    """Instructions that a regular expression compiles to, at least: one for each atom, times its
    repetitions. What cannot be read counts as nothing."""
    sizes = [0]
    last = position = 0
    while (atom := _ATOM.match(expression, position)) is not None:
        position = atom.end()
        match atom.group():
            case opening if opening[0] == "(":
                sizes.append(0)
                last = 0
                continue
            case ")" if len(sizes) > 1:
                last = sizes.pop()
            case "*" | "+" | "?" | "|" | "^" | "$":
                continue
            case _:
                last = 1
        if (count := _COUNT.match(expression, position)) is not None:
            low, high = int(count.group(1)), int(count.group(2) or 0)
            last *= max(low, high)
            position = count.end()
        sizes[-1] += last
    return sum(sizes)
