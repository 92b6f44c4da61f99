"""The longest key finds what the matcher finds, and few rules stand at many keys."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.routing.compiling.prefix_keys import FEW, Key, keys, repetitions
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.precedence import ordered
from controlplane.domain.routing.route import Condition, PathMatch, PathMatchType, Route
from tests.routing import tables as routing_tables

NOW_S = 1_000_000.0
HOST = "localhost"
KINDS = {"~": PathMatchType.REGULAR_EXPRESSION, "=": PathMatchType.EXACT}


def routes(*values: str, methods: tuple[str, ...] = ()) -> list[Route]:
    """`~/x` is an expression, `=/x` an exact path, `/x/{y}` a template, `/x` a prefix."""
    return [Route(id=value, service="s", methods=methods, path=path(value)) for value in values]


def path(value: str) -> PathMatch:
    kind = KINDS.get(value[0])
    if kind is None:
        kind = PathMatchType.PATH_TEMPLATE if "{" in value else PathMatchType.PATH_PREFIX
    return PathMatch(type=kind, value=value.lstrip("~="))


def stand(found: Sequence[Route]) -> dict[str, list[str]]:
    table = ordered(found)
    return {key.text: [table[n].id for n in key.rules] for key in keys(table)}


def test_a_key_has_what_may_match_up_to_a_rule_that_takes_everything() -> None:
    assert stand(routes("/", "/api", "=/api/v1", "/users/{id}", "~/api/[0-9]+", "/a")) == {
        "/": ["/"],
        "/a": ["/a", "/"],
        "/api": ["/api", "/"],
        "/api/": ["/api"],
        "/api/v1": ["=/api/v1", "/api"],
        "/users/": ["/users/{id}", "/"],
    }


def test_a_template_stands_at_each_key_that_its_paths_may_begin_with() -> None:
    found = stand(routes("/{shop}/cart", "=/a/car", "=/a/x", "=/a/cart/y", "=/a", "=//x"))
    assert {text for text, ids in found.items() if "/{shop}/cart" in ids} == {"/", "/a", "/a/car"}
    # Without a parameter it is an exact path.
    template = Route(id="t", path=PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/a"))
    assert stand([template]) == {"/a": ["t"]}


CONDITIONED = [
    Route(id=f"c{n}", service="s", conditions=(Condition(name="x-test", value=str(n)),))
    for n in range(FEW + 1)
]


@pytest.mark.parametrize(
    ("values", "hands_on"),
    [
        (("/a",), {"/a": False}),
        (("=/a",), {"/a": True}),
        (("=/a", "/a"), {"/a": False}),
        (("=/a", "~/a[x]"), {}),
        (("=/a/", "/a/{x}"), {}),
    ],
)
def test_a_key_whose_rules_take_its_paths_hands_the_others_on(
    values: tuple[str, ...], hands_on: dict[str, bool]
) -> None:
    table = ordered([*CONDITIONED, *routes(*values)])
    found = {key.text: key.whole for key in keys(table) if key.hands_on}
    assert found == hands_on


def test_a_key_whose_rules_may_not_hold_hands_nothing_on() -> None:
    table = ordered([*CONDITIONED, *routes("=/a", "/b", methods=("GET",))])
    assert not [key for key in keys(table) if key.hands_on]
    assert repetitions(table) == {"*": 2 * len(CONDITIONED)}


def test_few_repetitions_do_not_count() -> None:
    assert repetitions([*routes("/", "/a", "=/b", methods=("GET",)), *CONDITIONED[:2]]) == {"*": 0}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_longest_key_finds_what_the_matcher_finds(seed: int) -> None:
    rng = random.Random(seed)
    found = [routing_tables.route(rng, f"r{n}", (HOST,), NOW_S) for n in range(rng.randrange(16))]
    found += [replace(route, hosts=(HOST,)) for route in CONDITIONED[: rng.choice((0, 5))]]
    table = ordered(r for r in found if r.valid(NOW_S) and HOST in r.hosts)
    whole = Table.of(table)
    known = list(keys(table))
    for _ in range(8):
        request = routing_tables.sent(rng, table or CONDITIONED, (HOST,)).read()
        assert isinstance(request, Request)
        assert by_longest_key(known, table, request) == whole.match(request, NOW_S).route


def by_longest_key(known: list[Key], table: list[Route], request: Request) -> Route | None:
    """As a data plane would: the longest key decides, unless it hands the path on."""
    for key in sorted(known, key=lambda key: -len(key.text)):
        if not request.path.startswith(key.text) or (key.hands_on and not own(key, request.path)):
            continue
        return next(
            (table[n] for n in key.rules if matches(table[n], request)),
            None,
        )
    return None


def matches(route: Route, request: Request) -> bool:
    return Table.of([route]).match(request, NOW_S).route is not None


def own(key: Key, path: str) -> bool:
    return path == key.text or (not key.whole and path.startswith(f"{key.text}/"))
