"""One expression of many patterns matches their paths with any query, and nothing else."""

import re

import pytest

from controlplane.adapters.envoy.routing.targets import of_targets
from controlplane.domain.radix.pattern import Pattern

PATTERNS = [
    Pattern(("a", None, "b"), whole=True),
    Pattern(("a", None, "b", None), whole=True),
    Pattern(("a", "x.y"), whole=True),
    Pattern(("a", "c"), whole=False),
]
EVERY_PATH = Pattern((), whole=False)


def test_what_patterns_share_is_written_once() -> None:
    expected = r"/a(?:/[^/?]+/b(?:/[^/?]+|)|/x\.y|/c(?:/[^?]*)?)(?:\?.*)?"
    assert of_targets(PATTERNS) == expected


@pytest.mark.parametrize("query", ["", "?", "?q=/b", "?a?/c/"])
def test_a_query_decides_nothing(query: str) -> None:
    expression = re.compile(of_targets(PATTERNS))
    for path in ("/a/1/b", "/a/1/b/2", "/a/x.y", "/a/c", "/a/c/", "/a/c/d/e"):
        assert expression.fullmatch(f"{path}{query}")
    for path in ("/", "/a", "/a/1", "/a//b", "/a/1/b/", "/a/1/b/2/3", "/a/xzy", "/a/cc", "/b/a/c"):
        assert not expression.fullmatch(f"{path}{query}")


def test_a_rule_for_everything_takes_everything() -> None:
    expression = re.compile(of_targets([EVERY_PATH, *PATTERNS]))
    assert all(expression.fullmatch(target) for target in ("/", "/x", "/x/y?z", "/?/"))
