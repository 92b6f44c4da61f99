"""RE2's syntax by Python's engine."""

import re

import pytest

from controlplane.domain.routing.matching.dialect import compiled


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("/[[:alpha:]]+", "/abc", True),
        ("/[[:alpha:][:digit:]_]+", "/a1_", True),
        ("/[[:upper:]]", "/a", False),
        (r"/\d+\z", "/12", True),
        (r"/\d", "/٣", False),
        (r"/\Qa.b\E+", "/a.bb", True),
        (r"/\Qa.b\E", "/axb", False),
        (r"/\Qa+", "/a+", True),
        (r"/a\.b\\z", "/a.b\\z", True),
    ],
)
def test_an_expression_means_the_same(expression: str, text: str, matches: bool) -> None:
    assert (compiled(expression).fullmatch(text) is not None) is matches


def test_what_is_no_expression_is_an_error() -> None:
    with pytest.raises(re.error):
        compiled("/(")
