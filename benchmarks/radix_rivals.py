"""Who else finds rules for paths, each made ready from the same rules, for `benchmarks.radix`.

Each contestant is a function of a path. `answers` turns what it returns into the number of the
rule, outside the measured time, so that nobody is measured who finds something else.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import falcon.routing
import marisa_trie
from sanic_routing import BaseRouter
from werkzeug.routing import Map, Rule

from benchmarks.radix_rules import template
from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.precedence import pattern_order

Rules = Sequence[Pattern]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One way to find the rule of a path.

    Attributes:
        answers: what `find` returned -> number of the rule; None when it does not tell.
    """

    name: str
    find: Callable[[str], object]
    answers: Callable[[object], object]


class _Resource:
    """What falcon calls a resource."""

    def __init__(self, number: int) -> None:
        self.number = number

    def on_get(self, request: object, response: object, **parameters: str) -> None:
        """Falcon wants a responder; nobody calls it here."""


class _SanicRouter(BaseRouter):
    def get(self, **asked: Any) -> Any:
        """What Sanic asks through; here `resolve` is asked."""
        return self.resolve(**asked)


def ours(rules: Rules) -> Contestant:
    """The tree, which says which rule it is."""
    tree = Tree.of({rule: (at, None) for at, rule in enumerate(rules)})
    return Contestant(name="ours", find=tree.find, answers=_first)


def ours_with_parameters(rules: Rules) -> Contestant:
    """The tree, and the values of parameters, which routers hand out too."""
    tree = Tree.of({rule: (at, _names(rule)) for at, rule in enumerate(rules)})
    find_rule = tree.find

    def find(path: str) -> object:
        found = find_rule(path)
        if found is None or not found[1]:
            return found
        segments = path.split("/")
        return found[0], [(name, segments[place]) for place, name in found[1]]

    return Contestant(name="ours", find=find, answers=_first)


def expressions(rules: Rules) -> Contestant:
    """One regular expression after the other, first things first."""
    in_order = [(re.compile(_expression(rules[at])), at) for at in _in_order(rules)]

    def find(path: str) -> object:
        for expression, number in in_order:
            if expression.match(path):
                return number, None
        return None

    return Contestant(name="regex_list", find=find, answers=_first)


def alternation(rules: Rules) -> Contestant:
    """All expressions in one."""
    in_order = _in_order(rules)
    whole = re.compile("|".join(f"({_expression(rules[at])})" for at in in_order))

    def find(path: str) -> object:
        found = whole.match(path)
        return None if found is None else (in_order[(found.lastindex or 0) - 1], None)

    return Contestant(name="alternation", find=find, answers=_first)


def falcon_router(rules: Rules) -> Contestant:
    """Falcon's router, which compiles its routes to Python code."""
    router = falcon.routing.CompiledRouter()
    for at, rule in enumerate(rules):
        router.add_route(template(rule), _Resource(at))
    router.find("/")

    def answers(found: object) -> object:
        return found[0].number if isinstance(found, tuple) else None

    return Contestant(name="falcon", find=router.find, answers=answers)


def sanic_router(rules: Rules) -> Contestant:
    """Sanic's router, which compiles its routes to Python code, too."""
    router = _SanicRouter()
    for at, rule in enumerate(rules):
        router.add(template(rule, "<", ">"), _handler(at), methods=["GET"])
    router.finalize()

    def find(path: str) -> object:
        return router.resolve(path=path, method="GET")

    def answers(found: object) -> object:
        return found[1]() if isinstance(found, tuple) else None

    return Contestant(name="sanic", find=find, answers=answers)


def werkzeug_map(rules: Rules) -> Contestant:
    """Werkzeug's map, as Flask has it."""
    made = [Rule(template(rule, "<", ">"), endpoint=at) for at, rule in enumerate(rules)]
    adapter = Map(made, merge_slashes=False).bind("localhost")

    def find(path: str) -> object:
        return adapter.match(path)

    return Contestant(name="werkzeug", find=find, answers=_first)


def marisa(rules: Rules) -> Contestant:
    """Marisa's prefixes of a path: it knows no parameters, so rules end before their first."""
    trie = marisa_trie.Trie([template(rule).split("/{")[0] for rule in rules])
    return Contestant(name="marisa", find=trie.prefixes, answers=lambda found: None)


def _handler(number: int) -> Callable[[], int]:
    return lambda: number


def _first(found: object) -> object:
    return found[0] if isinstance(found, tuple) else None


def _names(rule: Pattern) -> tuple[tuple[int, str], ...]:
    segments = enumerate(rule.segments, start=1)
    return tuple((place, f"p{place}") for place, part in segments if part is None)


def _in_order(rules: Rules) -> list[int]:
    return sorted(range(len(rules)), key=lambda at: (pattern_order(rules[at]), at))


def _expression(rule: Pattern) -> str:
    """Without a group inside, so that an alternation can number its parts."""
    written = ("[^/]+" if part is None else re.escape(part) for part in rule.segments)
    return "/" + "/".join(written) + ("$" if rule.whole else "(?:/|$)")
