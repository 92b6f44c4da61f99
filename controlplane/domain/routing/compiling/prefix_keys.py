"""Keys: rules for data planes that find the longest key that a path begins with, as raw text.

Keys are exact paths, prefixes, and what templates and regular expressions begin with. What stands
at a key is asked in the order of precedence, and nothing that stands at a shorter key is asked
behind it. So each key has every rule that may match a path with this longest key, those of shorter
keys too, up to one that takes all of these. Where that would be many, and the key's own rules take
all of their own paths, it has those alone and hands every other path on to the shorter key.

Called by compilers, and by the fleet document, which bounds what comes of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from controlplane.domain.routing.expressions import literal_start
from controlplane.domain.routing.precedence import by_host, is_parameter
from controlplane.domain.routing.route import PathMatchType, Route

ROOT = "/"
# Rules of shorter keys that are repeated at a key; handing on costs a data plane as much as these.
FEW = 4
# Repetitions of rules that one host may have: with 1,000 paths that ask for a method beside 300
# expressions that may match anything they were a gigabyte in Envoy.
MOST_REPETITIONS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Rules to be asked for paths that begin with a text, and with no longer key.

    Attributes:
        rules: places in the given order, first things first.
        own: how many of them begin with this very text.
        hands_on: only for paths that are this text or below it by segments, or this text alone;
            the others belong to the next shorter key. Then `rules` take all of them.
        whole: with `hands_on`: this text alone.
    """

    text: str
    rules: tuple[int, ...]
    own: int
    hands_on: bool = False
    whole: bool = False


def is_certain(route: Route) -> bool:
    """Whether a route takes every request with its path; it exists now."""
    return not (route.methods or route.condition_count)


def keys(routes: Sequence[Route]) -> Iterator[Key]:
    """The keys of one host.

    Args:
        routes: in the order of precedence.
    """
    index = _index(routes)
    for text in sorted({*index.exacts, *index.prefixes, *index.starts, *index.expressions}):
        found = _until_all_taken(text, routes, sorted(_candidates(index, text)))
        yield _key(index, routes, text, found)


def repetitions(routes: Iterable[Route]) -> dict[str, int]:
    """Host -> how often a rule stands at a key of another one, more than `FEW` times at a key."""
    return {
        host: sum(surplus for key in keys(ordered) if (surplus := len(key.rules) - key.own) > FEW)
        for host, ordered in by_host(routes).items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """Places of rules by what a path must be or begin with.

    Attributes:
        lengths: of `starts` and `expressions`.
    """

    exacts: dict[str, list[int]] = field(default_factory=dict)
    prefixes: dict[str, list[int]] = field(default_factory=dict)
    starts: dict[str, list[tuple[int, Sequence[str]]]] = field(default_factory=dict)
    expressions: dict[str, list[int]] = field(default_factory=dict)
    lengths: set[int] = field(default_factory=set)


def _index(routes: Sequence[Route]) -> _Index:
    index = _Index()
    for n, route in enumerate(routes):
        value = route.path.value
        match route.path.type:
            case PathMatchType.EXACT:
                index.exacts.setdefault(value, []).append(n)
            case PathMatchType.PATH_PREFIX:
                index.prefixes.setdefault(value, []).append(n)
            case PathMatchType.PATH_TEMPLATE:
                segments = value.split("/")
                start = _template_start(segments)
                if start == value:
                    index.exacts.setdefault(value, []).append(n)
                else:
                    index.starts.setdefault(start, []).append((n, segments))
            case _:
                start = literal_start(value)
                index.expressions.setdefault(start or ROOT, []).append(n)
    index.lengths.update(map(len, (*index.starts, *index.expressions)))
    return index


def _template_start(segments: Sequence[str]) -> str:
    """What each path of a template begins with, up to its first parameter."""
    for at, segment in enumerate(segments):
        if is_parameter(segment):
            return "/".join(segments[:at]) + "/"
    return "/".join(segments)


def _candidates(index: _Index, text: str) -> Iterator[int]:
    """Rules that may match a path whose longest key is this one."""
    yield from index.exacts.get(text, ())
    yield from index.prefixes.get(ROOT, ())
    for above in _above(text):
        yield from index.prefixes.get(above, ())
    read = text.split("/")
    for length in index.lengths:
        # Of a longer one this is the whole text once more.
        start = text[:length] if length <= len(text) else ""
        yield from index.expressions.get(start, ())
        for n, segments in index.starts.get(start, ()):
            if _may_begin(segments, read):
                yield n


def _above(text: str) -> Iterator[str]:
    """The text and what is above it by whole segments: `/a/b/c` gives itself, `/a/b`, `/a`."""
    path = text
    while path and path != ROOT:
        yield path
        path = path.rpartition("/")[0]


def _may_begin(template: Sequence[str], read: Sequence[str]) -> bool:
    """Whether a path of a template may begin with what was read, its last segment only in part."""
    *whole, begun = read
    if len(read) > len(template):
        return False
    for segment, wanted in zip(whole, template, strict=False):
        if segment != wanted and not (segment and is_parameter(wanted)):
            return False
    wanted = template[len(whole)]
    return is_parameter(wanted) or wanted.startswith(begun)


def _until_all_taken(text: str, routes: Sequence[Route], found: list[int]) -> list[int]:
    """Without the rules behind one that takes every path that begins like this."""
    for count, n in enumerate(found, start=1):
        path = routes[n].path
        below = path.value == ROOT or text.startswith(f"{path.value}/")
        if path.type is PathMatchType.PATH_PREFIX and below and is_certain(routes[n]):
            return found[:count]
    return found


def _key(index: _Index, routes: Sequence[Route], text: str, found: list[int]) -> Key:
    begun = {n for n, _ in index.starts.get(text, ())} | set(index.expressions.get(text, ()))
    here = sorted((*index.exacts.get(text, ()), *index.prefixes.get(text, ())))
    own = sum(n in here or n in begun for n in found)
    key = Key(text=text, rules=tuple(found), own=own)
    if begun or len(found) - own <= FEW:
        return key
    below = text in index.prefixes
    taking = [
        n
        for n in here
        if is_certain(routes[n]) and (n in index.prefixes.get(text, ()) or not below)
    ]
    if not taking:
        return key
    taken = tuple(n for n in found if n in here and n <= taking[0])
    return Key(text=text, rules=taken, own=len(taken), hands_on=True, whole=not below)
