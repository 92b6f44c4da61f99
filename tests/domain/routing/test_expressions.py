"""What a regular expression means and costs, and what is told without compiling it."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.routing.expressions import (
    LARGEST_PROGRAM,
    Fault,
    as_bytes,
    compiled,
    fault,
    literal_start,
    of_template,
    program_size,
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
    if compiled(expression).matches(path):
        assert path.startswith(literal_start(expression))


@given(st.lists(PARTS, max_size=6), st.text("ab/x1", max_size=8))
def test_ordinary_expressions_mean_the_same_to_another_engine(parts: list[str], rest: str) -> None:
    expression, path = "/" + "".join(parts), "/" + rest
    whole = re.fullmatch(expression, path, re.ASCII) is not None
    assert compiled(expression).matches(path) is whole


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("/[[:alpha:]]+", "/abc", True),
        ("/[[:alpha:][:digit:]_]+", "/a1_", True),
        ("/[[:upper:]]", "/a", False),
        (r"/\d+\z", "/12", True),
        (r"/\d+", "/٣", False),
        (r"/\Qa.b\E+", "/a.bb", True),
        (r"/\Qa.b\E", "/axb", False),
        (r"/\Qa+", "/a+", True),
        (r"/a\.b\\z", "/a.b\\z", True),
        ("a|ab", "ab", True),
        ("(?i)strasse", "STRASSE", True),
        ("a.b", "a\nb", False),
        ("a$", "a\n", False),
        ("...", "\ud800", True),
    ],
)
def test_an_expression_means_what_re2_says(expression: str, text: str, matches: bool) -> None:
    assert compiled(expression).matches(text) is matches


# What a real Envoy 1.40 answers, by expression: each byte of a header is a character.
IN_ENVOY = {
    ".": (True, False, True, False),
    "..": (False, True, False, True),
    "[^a]": (True, False, True, False),
    r"\w": (False, False, False, False),
    r"\pL": (True, False, False, False),
    ".*": (True, True, True, True),
    r"\x{e9}": (True, False, False, False),
    r"\C": (True, False, True, False),
}


@pytest.mark.parametrize("expression", IN_ENVOY)
def test_bytes_beyond_ascii_mean_what_they_mean_in_envoy(expression: str) -> None:
    sent = (b"\xe9", "é".encode(), b"\x80", b"\xff\xfe")
    texts = (one.decode("utf-8", "surrogateescape") for one in sent)
    assert tuple(map(compiled(expression).matches, texts)) == IN_ENVOY[expression]


def test_a_text_is_the_bytes_that_came() -> None:
    for came in (b"gold", "gölد".encode(), b"\xff\xfe", b"\xed\xa0\x80"):
        assert as_bytes(came.decode("utf-8", "surrogateescape")) == came


@pytest.mark.parametrize(
    ("expression", "words", "at"),
    [
        ("/a((", "missing ): /a((", 2),
        ("/(a)(b(c)", "missing ): /(a)(b(c)", 4),
        ("/(a))", "unexpected ): /(a))", 4),
        ("/a[b|c[", "missing ]: [b|c[", 2),
        ("[b", "missing ]: [b", 0),
        ("/a*b|*", "no argument for repetition operator: *", 5),
        ("/*+*", "bad repetition operator: *+", 1),
        ("/a(?=b)", "invalid perl operator: (?=", 2),
        ("/(?<!a)b", "invalid perl operator: (?<!", 1),
        (r"/(a)\1|\1", r"invalid escape sequence: \1", 4),
        (r"/a\Z", r"invalid escape sequence: \Z", 2),
        ("/a{1001}", "invalid repetition size: {1001}", 2),
        (r"\b\a\c" + "\\", r"invalid escape sequence: \c", 4),
        ("/a\\", "trailing \\", 2),
        ("(?:" + "|" * 400 + "a){999}", "pattern too large - compile failed", None),
        ("/[a-z]{1000}" * 6, "a program of 6010 instructions", None),
        (r"a\x{100}", r"invalid escape sequence: \x{100", 1),
    ],
)
def test_a_fault_has_the_engines_words_and_a_place(
    expression: str, words: str, at: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert fault(expression) == Fault(words=words, at=at)
    assert capfd.readouterr() == ("", "")


def test_a_fault_stays_short_and_its_place_is_found_soon() -> None:
    found = fault("(" * 1024)
    assert found is not None
    assert len(found.words) == 200
    assert found.at is None


def test_what_re2_refuses_matches_nothing() -> None:
    assert not compiled("/a(?=b)").matches("/a")
    assert not compiled("(").matches("")


@pytest.mark.parametrize(
    ("expression", "size"), [("/", 5), ("/ab", 7), ("/(?:ab){3}", 11), ("/(ab)", 9)]
)
def test_a_program_has_the_size_that_envoy_counts(expression: str, size: int) -> None:
    assert program_size(expression) == size
    assert fault(expression) is None


def test_the_largest_program_is_taken_and_the_next_is_not() -> None:
    fits = "/" + "[a-z]" * (LARGEST_PROGRAM - 5)
    assert program_size(fits) == LARGEST_PROGRAM
    assert fault(fits) is None
    assert fault(f"{fits}a") == Fault(words=f"a program of {LARGEST_PROGRAM + 1} instructions")


# Each takes a backtracking engine exponential time, or at least the square of a text's length.
HOSTILE = (
    ("(a+)+b", "a"),
    ("(a|a)*b", "a"),
    ("(a|aa)+b", "a"),
    ("(.*)*b", "a"),
    ("(?:a?){99}a{99}b", "a"),
    ("(?:[a-z]+[0-9]?)*!", "ab"),
    (".*.*.*.*.*b", "a"),
    ("(?:a|b)*a(?:a|b){99}c", "ab"),
)


@pytest.mark.parametrize(("expression", "piece"), HOSTILE)
def test_time_grows_with_the_text_only(expression: str, piece: str) -> None:
    """16 times the text takes at most 64 times as long: doubling is not even twice as slow."""
    asked = compiled(expression)

    def best_s(length: int) -> float:
        text = piece * (length // len(piece))
        times = []
        for _ in range(5):
            began = time.perf_counter()
            assert not asked.matches(text)
            times.append(time.perf_counter() - began)
        return min(times)

    assert best_s(8_192) < 64 * max(best_s(512), 1e-5)


def test_threads_may_share_an_expression() -> None:
    asked = compiled("(?:[a-f]+[0-9]*)*/x")
    texts = [f"{'abcdef0' * (n % 50)}/{'x' if n % 3 else 'y'}" for n in range(2_000)]
    wanted = [n % 3 > 0 for n in range(2_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asked.matches, texts)) == wanted


def test_routes_with_the_same_expression_share_it() -> None:
    assert compiled("/x[0-9]{3}") is compiled("/x[0-9]{3}")


def test_a_template_is_an_expression_for_one_segment_each() -> None:
    assert of_template("/a.b/{id}/c") == r"/a\.b/[^/]+/c"
    assert compiled(of_template("/users/{id}")).matches("/users/7")
    assert not compiled(of_template("/users/{id}")).matches("/users/")
