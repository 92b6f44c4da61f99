"""What can be told from a regular expression without compiling it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.routing.expressions import (
    least_program_size,
    literal_start,
    of_template,
)


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("/user/[0-9]+", "/user/"),
        ("/items?", "/item"),
        ("/items+", "/items"),
        ("/a{2}", "/"),
        ("/a|/b", ""),
        ("/v1\\.0", "/v1"),
        ("/", "/"),
        ("", ""),
        ("*", ""),
    ],
)
def test_the_literal_start_is_where_every_match_begins(expression: str, start: str) -> None:
    assert literal_start(expression) == start


PARTS = st.sampled_from(["a", "b/", "[ab]", "(ab|b)", "x?", "b*", "a{2}", "\\d", ".", "(?:a)"])


@given(st.lists(PARTS, max_size=6), st.text("ab/x1", max_size=8))
def test_no_path_matches_that_does_not_begin_so(parts: list[str], rest: str) -> None:
    expression, path = "/" + "".join(parts), "/" + rest
    if re.fullmatch(expression, path):
        assert path.startswith(literal_start(expression))


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("/", 1),
        ("/ab", 3),
        ("/(ab){3}", 7),
        ("/(a(bc){2,3}){10}", 71),
        ("/(?:a){1000}", 1001),
        ("/(?P<name>a){2}", 3),
        ("/\\d{5}x", 7),
        ("/[^]a-z]{7}", 8),
        ("/[[:alpha:]]{3}", 4),
        ("/a{2,}", 3),
        ("/a|b", 3),
        ("/x{", 3),
        ("/)", 2),
        ("/(((", 1),
        ("\\", 0),
        ("/[a-z]{1000}/[a-z]{1000}", 2002),
    ],
)
def test_a_program_has_at_least_one_instruction_for_each_atom(expression: str, size: int) -> None:
    assert least_program_size(expression) == size


def test_a_template_is_an_expression_for_one_segment_each() -> None:
    assert of_template("/a.b/{id}/c") == r"/a\.b/[^/]+/c"
    assert re.fullmatch(of_template("/users/{id}"), "/users/7")
    assert not re.fullmatch(of_template("/users/{id}"), "/users/")
