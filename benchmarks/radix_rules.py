"""Rules and URLs for `benchmarks.radix`: drawn from few words for each level, from a seed."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route

RULES = 808
WITH_PARAMETERS = 0.3
URL_LENGTH = 150
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# How many words a level of the paths has: few at the top, as on a site with a few applications.
WORDS = (4, 8, 12)
WORDS_BELOW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What rules are like.

    Attributes:
        whole: rules of whole paths, otherwise of prefixes.
        segments: fewest and most.
        letters: of a segment, on average.
    """

    whole: bool
    segments: tuple[int, int]
    letters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Rules, requests that they match, and requests that none matches.

    Attributes:
        turns: for each turn distinct paths and which rule each hits, one path for each rule. A
            rule of a whole path without parameters has the same in each turn.
        misses: for each turn distinct paths, each a hit with one segment changed.
    """

    rules: tuple[Pattern, ...]
    turns: tuple[Mapping[str, int], ...]
    misses: tuple[tuple[str, ...], ...]


def work(shape: Shape, turns: int, rng: random.Random) -> Work:
    """Draw rules of a shape, and paths for some turns."""
    rules = _rules(shape, RULES, rng)
    tree = Tree.of({rule: at for at, rule in enumerate(rules)})
    asked: list[Mapping[str, int]] = []
    misses: list[tuple[str, ...]] = []
    for _ in range(turns):
        urls = [(_url(shape, rule, rng), at) for at, rule in enumerate(rules)]
        rng.shuffle(urls)
        # By chance another rule may come first; such paths are left out.
        asked.append({url: at for url, at in urls if tree.find(url) == at})
        changed = dict.fromkeys(_miss(url, rng) for url, _ in urls)
        misses.append(tuple(url for url in changed if tree.find(url) is None))
    return Work(rules=rules, turns=tuple(asked), misses=tuple(misses))


def fresh(urls: Iterable[str]) -> list[str]:
    """New strings: Python keeps the hash of one that it has seen, as no request's path has."""
    return [url[:1] + url[1:] for url in urls]


def routes_of(rules: tuple[Pattern, ...]) -> tuple[Route, ...]:
    """Rules as routes; of prefixes those without parameters, which the model does not know."""
    return tuple(
        Route(id=f"r{at:05}", service="s", path=PathMatch(type=kind, value=template(rule)))
        for at, rule in enumerate(rules)
        if (kind := _kind(rule)) is not None
    )


def ten_thousand(rng: random.Random) -> tuple[Route, ...]:
    """As many routes of 6 to 8 segments: prefixes, and whole paths with parameters."""
    prefixes = _rules(Shape(whole=False, segments=(6, 8), letters=7), 10_000, rng)
    rules = tuple(Pattern(rule.segments, whole=None in rule.segments) for rule in prefixes)
    return routes_of(rules)


def template(rule: Pattern, opening: str = "{", closing: str = "}") -> str:
    """The rule as a path with names for its parameters: `/a/{p1}`."""
    parts = (
        f"{opening}p{at}{closing}" if part is None else part
        for at, part in enumerate(rule.segments, start=1)
    )
    return "/" + "/".join(parts)


def _kind(rule: Pattern) -> PathMatchType | None:
    if rule.whole:
        return PathMatchType.PATH_TEMPLATE
    return None if None in rule.segments else PathMatchType.PATH_PREFIX


def _rules(shape: Shape, count: int, rng: random.Random) -> tuple[Pattern, ...]:
    levels = range(shape.segments[1])
    sizes = [WORDS[level] if level < len(WORDS) else WORDS_BELOW for level in levels]
    words = [[_word(shape.letters, rng) for _ in range(size)] for size in sizes]
    found: dict[Pattern, None] = {}
    while len(found) < count:
        length = rng.randint(*shape.segments)
        segments: list[str | None] = [rng.choice(words[level]) for level in range(length)]
        if len(found) < count * WITH_PARAMETERS:
            for at in rng.sample(range(1, length), rng.randint(1, 2)):
                segments[at] = None
        found[Pattern(tuple(segments), shape.whole)] = None
    rules = list(found)
    rng.shuffle(rules)
    return tuple(rules)


def _url(shape: Shape, rule: Pattern, rng: random.Random) -> str:
    parts = [_word(shape.letters, rng) if part is None else part for part in rule.segments]
    url = "/" + "/".join(parts)
    while not shape.whole and len(url) < URL_LENGTH - 2:
        url += "/" + _word(min(7, URL_LENGTH - len(url) - 1), rng)
    return url


def _miss(url: str, rng: random.Random) -> str:
    parts = url.split("/")
    at = rng.randrange(1, len(parts))
    parts[at] = parts[at][:-1] + "0"
    return "/".join(parts)


def _word(letters: int, rng: random.Random) -> str:
    length = max(2, round(rng.gauss(letters, letters / 5)))
    return "".join(islice(iter(lambda: rng.choice(LETTERS), None), length))
