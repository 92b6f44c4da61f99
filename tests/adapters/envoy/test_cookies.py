"""Cookies in one header: the first of a name counts, and no expression reaches into the next."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.adapters.envoy.routing import cookies
from controlplane.domain.routing.matching.request import Request

NAMES = ("sid", "s", "si", "d-1")
HEADERS = st.text("si=; d-1\t", max_size=14)


def value(name: str, header: str) -> str | None:
    return Request(path="/", headers={"cookie": header}).cookies.get(name)


@settings(deadline=None)
@given(header=HEADERS, name=st.sampled_from(NAMES))
def test_the_first_cookie_of_a_name_counts(header: str, name: str) -> None:
    found = value(name, header)
    assert (re.fullmatch(cookies.without(name), header) is not None) == (found is None)
    begins = re.fullmatch(cookies.with_value(name, "1[^;]*"), header)
    assert (begins is not None) == (found is not None and found.startswith("1"))
    whole = re.fullmatch(cookies.with_value(name, "s?1"), header)
    assert (whole is not None) == (found in {"1", "s1"})


@pytest.mark.parametrize(
    ("expression", "narrowed"),
    [
        ("[0-9]+", "[0-9]+"),
        ("a.*b", r"a[^;\n]*b"),
        ("[^a]", "[^;a]"),
        ("[^]a]", r"[^;\]a]"),
        (r"\W\S\D\w\.", r"[^\w;][^\s;][^\d;]\w\."),
        ("a;b", r"a[^\s\S]b"),
        (r"\;", r"[^\s\S]"),
        ("[a-z", "[a-z"),
        ("[ -~]", None),
        ("[;]", None),
        ("[[:punct:]]", None),
        (r"\Qa\E", None),
        (r"\p{L}", None),
        (r"\x3b", None),
        ("[z-a]", None),
    ],
)
def test_an_expression_stays_within_its_cookie(expression: str, narrowed: str | None) -> None:
    assert cookies.within_value(expression) == narrowed


@settings(deadline=None)
@given(
    text=st.text("ab;=. ", max_size=8),
    expression=st.sampled_from(["a.*b", "[^a]+", r"\W*", "(a|.)+", "a?;b", r"\S+.", "[ab]*"]),
)
def test_what_is_narrowed_matches_the_same_values(text: str, expression: str) -> None:
    narrowed = cookies.within_value(expression)
    assert narrowed is not None
    wanted = re.fullmatch(expression, text) is not None and ";" not in text
    assert (re.fullmatch(narrowed, text) is not None) == wanted
