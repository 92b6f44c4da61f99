"""Patterns that one path may meet are found without comparing each with each."""

from itertools import product

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.compiling.overlaps import Overlaps
from controlplane.domain.routing.precedence import pattern
from controlplane.domain.routing.route import PathMatch, PathMatchType

WHOLE = ("/a", "/{x}", "/a/b", "/a/{x}", "/{x}/b", "/{x}/{y}", "/a/b/c", "/c/{x}/{y}")
GOING_ON = ("/", "/a", "/a/b", "/c")
PATHS = ["/" + "/".join(parts) for n in (1, 2, 3) for parts in product("abc", repeat=n)]


def read(value: str, kind: PathMatchType) -> Pattern:
    found = pattern(PathMatch(type=kind, value=value))
    assert found is not None
    return found


PATTERNS = [read(value, PathMatchType.PATH_TEMPLATE) for value in WHOLE]
PATTERNS += [read(value, PathMatchType.PATH_PREFIX) for value in GOING_ON]


def test_those_that_share_a_path_are_found_and_no_others() -> None:
    overlaps = Overlaps.of(enumerate(PATTERNS))
    taken = [{p for p in PATHS if Tree.of({one: 1}).find(p)} for one in PATTERNS]
    for n, one in enumerate(PATTERNS):
        shared = {m for m in range(len(PATTERNS)) if taken[n] & taken[m]}
        assert set(overlaps.with_paths_of(one)) == shared


def test_an_expression_may_match_any_path() -> None:
    overlaps = Overlaps.of([(0, PATTERNS[0]), (7, None)])
    assert list(overlaps.with_paths_of(read("/b", PathMatchType.PATH_PREFIX))) == [7]
