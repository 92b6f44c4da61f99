"""Envoy's own words, as it said them, and the items that they mean."""

from dataclasses import replace

import pytest

from controlplane.adapters.envoy.culprits import environmental, named
from controlplane.adapters.envoy.forms import forms
from controlplane.adapters.envoy.routing.conditions import cookie_expression
from controlplane.domain.routing.route import (
    Condition,
    L4Route,
    Part,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)
from controlplane.domain.routing.whitelist import Whitelist
from tests.adapters.envoy.site import SMALL, fleet, prefix, service, snapshot

EXPRESSIONS = {
    "paren": "/a((",
    "ahead": "/a(?=b)",
    "back": r"/(a)\1",
    "greedy": "/a*+",
    "range": "/x[z-a]",
    "size": "/a{2000}",
    "long": "/[a-z]{1000}/[a-z]{1000}",
    "sound": "/[0-9]+",
}


def asked(expression: str) -> Condition:
    return Condition(name="x", type=TextMatchType.REGULAR_EXPRESSION, value=expression)


COOKIE = Condition(part=Part.COOKIE, name="plan", type=TextMatchType.ABSENT)
ROUTES = [
    *(
        Route(
            id=name,
            service="web",
            path=PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value=value),
        )
        for name, value in EXPRESSIONS.items()
    ),
    prefix("hosted", "web", "/", "a.example"),
    prefix("api", "api", "/api"),
    replace(prefix("asks", "api", "/asks"), conditions=(asked("gold(?!x)"),)),
    replace(prefix("eats", "api", "/eats"), conditions=(COOKIE,)),
]
DECLARED = replace(
    fleet([service("web", [9001], [9101]), service("api", [9201], [9301])], ROUTES),
    whitelists=(Whitelist(id="site", hosts=("w.example",), channel=(asked("app(?<=p)"),)),),
    l4_routes=(L4Route(id="db", service="api", port=5_432),),
)
FORMS = forms(snapshot(DECLARED, 1).content)


@pytest.mark.parametrize(
    ("words", "subjects"),
    [
        ("missing ): /a((", {"route/paren"}),
        ("invalid perl operator: (?=", {"route/ahead"}),
        (r"invalid escape sequence: \1", {"route/back"}),
        ("bad repetition operator: *+", {"route/greedy"}),
        ("invalid character class range: z-a", {"route/range"}),
        ("invalid repetition size: {2000}", {"route/size"}),
        (
            "regex '/[a-z]{1000}/[a-z]{1000}' RE2 program size of 6005 > max program size of 5000 "
            "set for the error level threshold. Increase configured max program size if necessary.",
            {"route/long"},
        ),
        (
            f"regex '{cookie_expression(COOKIE)}' RE2 program size of 5171 > max program size of "
            "5000 set for the error level threshold. Increase configured max program size.",
            {"route/eats"},
        ),
        ("invalid perl operator: (?!", {"route/asks"}),
        ("invalid perl operator: (?<", {"whitelist/site"}),
        ("route: unknown cluster 'api'", {"route/api", "route/asks", "route/eats"}),
        (
            "route: unknown weighted cluster 'api:v1~slow'",
            {"route/api", "route/asks", "route/eats"},
        ),
        ("Error adding/updating cluster(s) web:v1~slow: no", {"service/web"}),
        ("Error adding/updating cluster(s) web~~tcp: no", {"service/web"}),
        ("Error adding/updating listener(s) tcp-5432: no", {"l4/db"}),
        (
            "Only unique values for domains are permitted. Duplicate entry of domain A.example in "
            "route routes",
            {"route/hosted"},
        ),
        (
            "Error adding/updating cluster(s) web: cannot create an EDS cluster without an EDS "
            "config",
            {"service/web"},
        ),
        ("Error adding/updating cluster(s) x: no, web: no", {"service/web"}),
        ("Error adding/updating listener(s) http-edge: bad filter", {"gateway/edge"}),
        ("The table size of maglev must be prime number", set()),
        ("", set()),
        ("no argument for repetition operator: ", set()),
    ],
)
def test_words_name_items(words: str, subjects: set[str]) -> None:
    assert named(words, FORMS) == subjects


def test_a_single_wildcard_means_the_routes_of_every_host() -> None:
    words = "Only a single wildcard domain is permitted in route routes"
    assert named(words, FORMS) == {f"route/{r.id}" for r in ROUTES if r.hosts == ("*",)}


def test_what_is_not_asked_about_is_not_named() -> None:
    assert named("missing ): /a((", forms(snapshot(SMALL, 1).content)) == frozenset()


def test_a_port_in_use_is_about_the_machine() -> None:
    words = "Error adding/updating listener(s) l2: cannot bind '127.0.0.1:9101': Address already in"
    assert environmental(f"{words} use")
    assert not environmental("missing ): /a((")
