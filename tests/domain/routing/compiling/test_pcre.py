"""The expression for cookies and query arguments against the reading of a request."""

import re

from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.routing.compiling.pcre import first_part
from controlplane.domain.routing.matching.request import Request

TEXTS = st.lists(st.sampled_from(["a", "b", "ab", "=", ";", "&", " ", "x"]), max_size=10)


@given(TEXTS)
def test_the_first_cookie_of_a_name(pieces: list[str]) -> None:
    text = "".join(pieces)
    wanted = Request(path="/", headers={"cookie": text}).cookies.get("a")
    found = re.match(first_part("a", ";"), text)
    assert (found[1] if found else None) == wanted


@given(TEXTS)
def test_the_first_query_argument_of_a_name(pieces: list[str]) -> None:
    text = "".join(pieces)
    wanted = Request(path="/", query=text).query_params.get("a")
    found = re.match(first_part("a", "&"), text)
    assert (found[1] if found else None) == wanted
