"""The tree against the plain list of its patterns."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.radix.invariants import faults
from controlplane.domain.radix.listing import listed, tree_of
from controlplane.domain.radix.node import Node
from controlplane.domain.radix.pattern import Pattern, of_literal
from controlplane.domain.radix.tree import Tree

SEGMENT = st.sampled_from(["a", "b", "c"])
PATTERNS = st.builds(
    Pattern,
    st.lists(SEGMENT | st.none(), max_size=5).map(tuple),
    st.booleans(),
).filter(lambda pattern: bool(pattern.segments) or not pattern.whole)
PATHS = st.lists(SEGMENT | st.just("x"), max_size=6).map(lambda parts: "/" + "/".join(parts))


def written(text: str) -> Pattern:
    """`/a/{}` a whole path, `/a/*` a prefix."""
    whole = not text.endswith("*")
    parts = text.removesuffix("*").strip("/").split("/")
    segments = tuple(None if part == "{}" else part for part in parts if part)
    return Pattern(segments, whole)


def tree(*texts: str) -> Tree[str]:
    return Tree.of({written(text): text for text in texts})


def matches(pattern: Pattern, path: str) -> bool:
    parts = path[1:].split("/")
    if len(parts) < len(pattern.segments) or (pattern.whole and len(parts) > len(pattern.segments)):
        return False
    pairs = zip(pattern.segments, parts, strict=False)
    return all(part != "" if wanted is None else part == wanted for wanted, part in pairs)


def rank(pattern: Pattern) -> tuple[int, ...]:
    return (*(int(part is None) for part in pattern.segments), 0 if pattern.whole else 2)


@settings(deadline=None)
@given(st.sets(PATTERNS, max_size=25), PATHS, st.booleans())
def test_candidates_are_what_a_list_of_patterns_gives(
    patterns: set[Pattern], path: str, slash: bool
) -> None:
    path += "/" if slash and path != "/" else ""
    expected = sorted((p for p in patterns if matches(p, path)), key=rank)
    made = Tree.of({pattern: pattern for pattern in patterns})
    assert list(made.candidates(path)) == expected
    assert made.find(path) == (expected[0] if expected else None)


@settings(deadline=None)
@given(st.lists(PATTERNS, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_one_by_one_in_any_order_is_all_at_once(
    patterns: list[Pattern],
    rng: random.Random,
) -> None:
    at_once = Tree.of({pattern: at for at, pattern in enumerate(patterns)})
    order = list(enumerate(patterns))
    rng.shuffle(order)
    grown: Tree[int] = Tree()
    for at, pattern in order:
        grown = grown.inserted(pattern, at)
    assert grown == at_once
    assert faults(at_once) == []
    assert dict(at_once.contents()) == {pattern: at for at, pattern in enumerate(patterns)}
    rng.shuffle(order)
    for at, pattern in order:
        assert grown.get(pattern) == at
        less = grown.removed(pattern)
        assert less.get(pattern) is None
        assert less.inserted(pattern, at) == grown
        assert faults(less) == []
        grown = less
    assert grown == Tree()


@settings(deadline=None)
@given(st.sets(PATTERNS, max_size=25))
def test_the_list_of_nodes_gives_the_tree_again(patterns: set[Pattern]) -> None:
    made = Tree.of({pattern: (at,) for at, pattern in enumerate(sorted(patterns, key=str))})
    assert tree_of(listed(made, lambda value: value), lambda numbers: numbers) == made


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a/b/c", "/a/b/c"),
        ("/a/b/x", "/a/b/*"),
        ("/a/x", "/a/{}"),
        ("/a/x/c", "/a/{}/c"),
        ("/a/x/y", "/a/*"),
        ("/a/b/d/e", "/a/b/*"),
        ("/a/", "/a/*"),
        ("/a", "/a/*"),
        ("/x", "/*"),
        ("/", "/*"),
    ],
)
def test_the_longest_pattern_wins_with_a_way_back(path: str, found: str) -> None:
    made = tree("/a/b/c", "/a/b/*", "/a/{}", "/a/{}/c", "/a/*", "/*", "/a/{}/d/*", "/a/b/d/f/g/*")
    assert next(made.candidates(path)) == found
    assert made.find(path) == found


def test_a_change_leaves_the_old_tree_as_it_was() -> None:
    before = tree("/a/b/*", "/a/c", "/a/{}/d")
    again = tree("/a/b/*", "/a/c", "/a/{}/d")
    before.inserted(written("/a/b/e/*"), "new").removed(written("/a/c"))
    assert before == again


def test_another_value_replaces_the_first() -> None:
    made = tree("/a/*", "/b").inserted(written("/a/*"), "new").inserted(written("/b"), "new")
    assert made.find("/a/x") == made.find("/b") == "new"
    assert made.depths == (0, 1)


def test_what_is_not_there_cannot_be_removed() -> None:
    made = tree("/a/b/*", "/a/{}/c")
    for text in ("/a/*", "/a/b", "/a/{}", "/a/b/c/*", "/x/*", "/a/{}/c/*"):
        assert made.removed(written(text)) is made


def test_an_empty_tree_finds_nothing() -> None:
    empty: Tree[str] = Tree()
    assert empty.find("/a") is None
    assert list(empty.candidates("/")) == []
    assert faults(empty) == []


def test_very_long_paths_and_patterns() -> None:
    deep = written("/" + "{}/" * 300)
    texts = [written("/" + "a/" * count + "*") for count in range(1, 300)]
    made = Tree.of({pattern: at for at, pattern in enumerate([deep, *texts])})
    assert made.find("/" + "/".join("a" * 1_000)) == 299
    assert made.find("/" + "/".join("b" * 300)) == 0
    assert made.removed(deep).inserted(deep, 0) == made


def test_a_literal_is_its_path() -> None:
    assert of_literal("/a/").literal == "/a/"
    assert of_literal("/").segments == ("",)
    assert written("/a/{}").literal is None
    assert written("/a/*").literal is None


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Tree(literals={"a": 1}), "a: does not begin with a slash"),
        (Tree(root=Node(rest=["a"], prefix=1), depths=(0, 1)), "segments of its own"),
        (Tree(root=Node(children={"a": Node()})), "/a: nothing ends here"),
        (
            Tree(root=Node(children={"a": Node(children={"b": Node(prefix=1)})}), depths=(0, 0, 1)),
            "/a: two nodes without a choice",
        ),
        (Tree(root=Node(children={"a": Node(whole=1)}), depths=(0, 1)), "beside the nodes"),
        (Tree(root=Node(children={"a/b": Node(prefix=1)}), depths=(0, 1)), "a slash within"),
        (Tree(root=Node(parameter=Node(prefix=1))), "are (0, 1), not ()"),
    ],
)
def test_what_does_not_hold_is_told(broken: Tree[int], fault: str) -> None:
    assert any(fault in told for told in faults(broken)), faults(broken)


def test_a_list_that_names_what_does_not_stand_behind_is_no_tree() -> None:
    whole = listed(tree("/a/*", "/b/c/*"), lambda value: (1,))
    with pytest.raises(LookupError):
        tree_of(type(whole)(literals={}, nodes=whole.nodes[:1], depths=()), lambda numbers: numbers)
