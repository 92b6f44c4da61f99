"""Rules and URLs for `benchmarks.route_tables` from a seed: prefixes, and some templates."""

import random
import re
from dataclasses import dataclass

from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import FixedResponse, PathMatch, PathMatchType, Route

RULES = 808
SEGMENTS = (6, 8)
URL_LENGTH = 150
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# How many words a level of the paths has. All paths begin with one application, as the paper's do
# (/otn/login/pwd): expressions compare what is shared again for each rule.
WORDS = (1, 4, 8, 12, 20, 20, 20, 20)
WORD_LETTERS = (4, 9)
BODY = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The same rules as routes and as expressions, and distinct URLs that hit them evenly."""

    routes: tuple[Route, ...]
    expressions: tuple[str, ...]
    urls: tuple[str, ...]


def drawn(urls: int, seed: int, with_parameters: float) -> Rules:
    """Draw rules and at least so many URLs.

    Args:
        with_parameters: part of the rules that are templates.
    """
    rng = random.Random(seed)
    words = [[_word(rng) for _ in range(size)] for size in WORDS]
    paths: dict[str, PathMatchType] = {}
    while len(paths) < RULES:
        parts = [rng.choice(words[level]) for level in range(rng.randint(*SEGMENTS))]
        kind = PathMatchType.PATH_PREFIX
        if len(paths) < RULES * with_parameters:
            kind = PathMatchType.PATH_TEMPLATE
            for at in rng.sample(range(1, len(parts)), rng.randint(1, 2)):
                parts[at] = f"{{p{at}}}"
        paths["/" + "/".join(parts)] = kind
    order = list(paths.items())
    rng.shuffle(order)
    routes = tuple(_route(at, path, kind) for at, (path, kind) in enumerate(order))
    return Rules(
        routes=routes,
        expressions=tuple(_expression(route.path) for route in routes),
        urls=_urls(routes, urls, rng),
    )


def _route(at: int, path: str, kind: PathMatchType) -> Route:
    return Route(
        id=f"r{at:03}",
        path=PathMatch(type=kind, value=path),
        response=FixedResponse(status=200, body=BODY),
    )


def _expression(path: PathMatch) -> str:
    """All of a path, as somebody writes it who has expressions only."""
    if path.type is PathMatchType.PATH_TEMPLATE:
        return of_template(path.value)
    return f"{re.escape(path.value)}(?:/.*)?"


def _urls(routes: tuple[Route, ...], count: int, rng: random.Random) -> tuple[str, ...]:
    """Distinct URLs in random order; each rule is hit by the same number, but for chance."""
    table = Table.of(routes)
    found: dict[str, None] = {}
    at = 0
    while len(found) < count:
        route = routes[at % len(routes)]
        url = _url(route.path, rng)
        match = table.match(Request(path=url), 0.0).route
        # With a parameter's value by chance another rule may come first.
        if match is not None and match.id == route.id:
            found[url] = None
        at += 1
    urls = list(found)
    rng.shuffle(urls)
    return tuple(urls)


def _url(path: PathMatch, rng: random.Random) -> str:
    length = round(rng.gauss(URL_LENGTH, URL_LENGTH / 10))
    if path.type is PathMatchType.PATH_PREFIX:
        url = path.value
        while len(url) < length - 3:
            url += "/" + _letters(min(8, length - len(url) - 1), rng)
        return url
    parts = path.value.split("/")
    parameters = [part for part in parts if part.startswith("{")]
    fixed = len(path.value) - sum(map(len, parameters))
    each = max(4, (length - fixed) // len(parameters))
    return "/".join(_letters(each, rng) if part.startswith("{") else part for part in parts)


def _word(rng: random.Random) -> str:
    return _letters(rng.randint(*WORD_LETTERS), rng)


def _letters(count: int, rng: random.Random) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(count))
