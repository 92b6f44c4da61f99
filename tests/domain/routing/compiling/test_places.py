"""Places against a naive reading of each rule, over drawn tables and paths."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.routing.compiling.places import START, Place, is_certain, places
from controlplane.domain.routing.precedence import ordered, pattern
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route

SEGMENTS = st.sampled_from(["a", "b", "c", ""])


@st.composite
def _paths(draw: st.DrawFn) -> PathMatch:
    kind = draw(st.sampled_from(list(PathMatchType)[:3]))
    parts = draw(st.lists(st.sampled_from(["a", "b", "c", "{x}"]), max_size=4))
    if kind is not PathMatchType.PATH_TEMPLATE:
        parts = ["b" if part == "{x}" else part for part in parts]
    end = "/" if draw(st.booleans()) and kind is not PathMatchType.PATH_PREFIX and parts else ""
    return PathMatch(type=kind, value=f"/{'/'.join(parts)}{end}")


@st.composite
def _tables(draw: st.DrawFn) -> list[Route]:
    drawn = draw(st.lists(st.tuples(_paths(), st.booleans()), max_size=12))
    return [
        Route(id=f"r{n}", service="s", path=path, methods=("GET",) if narrow else ())
        for n, (path, narrow) in enumerate(drawn)
    ]


def _matches(route: Route, segments: list[str]) -> bool:
    rule = pattern(route.path)
    assert rule is not None
    count = len(rule.segments)
    if count > len(segments) or (rule.whole and count < len(segments)):
        return False
    return all(
        bool(given) if wanted is None else given == wanted
        for wanted, given in zip(rule.segments, segments, strict=False)
    )


def _naive(routes: list[Route], segments: list[str]) -> tuple[Route, ...]:
    kept = []
    for route in ordered(routes):
        if _matches(route, segments):
            kept.append(route)
            if is_certain(route):
                break
    return tuple(kept)


def _walked(found: tuple[Place, ...], segments: list[str]) -> Place:
    by_key = {(place.state, place.segments, place.ended): place for place in found}
    state, rest = START, tuple(segments)
    while True:
        place = by_key.get((state, rest, True))
        if place is not None:
            return place
        count = next(n for n in range(len(rest), -1, -1) if (state, rest[:n], False) in by_key)
        place = by_key[state, rest[:count], False]
        if place.onward is None:
            return place
        assert rest[count] != ""
        state, rest = place.onward, rest[count + 1 :]


@settings(max_examples=100, deadline=None)
@given(_tables(), st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6), st.booleans())
def test_a_walk_comes_to_the_routes_that_match(
    routes: list[Route], path: list[str], slash: bool
) -> None:
    found = places(routes)
    assert found is not None
    segments = [*path, ""] if slash or not path else path
    assert _walked(found, segments).routes == _naive(routes, segments)


@settings(max_examples=100, deadline=None)
@given(_tables(), st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6))
def test_at_the_first_place_open_routes_are_all_that_may_still_match(
    routes: list[Route], path: list[str]
) -> None:
    found = places(routes)
    assert found is not None
    segments = path or [""]
    begun = [place for place in found if place.state == START]
    by_key = {(place.segments, place.ended): place for place in begun}
    rest = tuple(segments)
    place = by_key.get((rest, True))
    if place is None:
        count = next(n for n in range(len(rest), -1, -1) if (rest[:n], False) in by_key)
        place = by_key[rest[:count], False]
    left = [r for r in place.open if _matches(r, segments)] if not place.ended else []
    assert _naive([*place.routes, *left], segments) == _naive(routes, segments)


def test_two_thousand_plain_paths_are_places_soon() -> None:
    routes = [
        Route(id=f"r{n}", service="s", path=PathMatch(value=f"/p{n}/x")) for n in range(2_000)
    ]
    found = places(routes)
    assert found is not None
    assert len(found) == 1 + 2 * 2_000 + 2 * 2_000
    assert places(routes, most=1_000) is None


def test_expressions_have_no_place() -> None:
    expression = PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/a.*")
    (only,) = places([Route(id="r", service="s", path=expression)]) or ()
    assert (only.routes, only.open, only.onward) == ((), (), None)
