"""The one spelling of hosts and paths."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.routing.matching.normalization import (
    LONGEST_PATH,
    Refusal,
    Unreadable,
    normalized,
    normalized_host,
)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/a/b?x=/../c", "/a/b"),
        ("/%61%2D%7e", "/a-~"),
        ("/caf%c3%a9%3f", "/caf%C3%A9%3F"),
        ("/%2561", "/%2561"),
        ("//a///b//", "/a/b/"),
        ("/a/./b/../c", "/a/c"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/..", "/"),
        ("/../../a", "/a"),
        ("/a/%2e%2E/b", "/b"),
        ("/a//../b", "/a/b"),
        ("/a/.../..b/.c", "/a/.../..b/.c"),
        ("/a;b=1,c:d@e!$&'()*+", "/a;b=1,c:d@e!$&'()*+"),
        ("/" + "x" * (LONGEST_PATH - 1), "/" + "x" * (LONGEST_PATH - 1)),
    ],
)
def test_a_path_has_one_spelling(target: str, path: str) -> None:
    assert normalized(target) == path


@pytest.mark.parametrize(
    ("target", "status", "reason"),
    [
        ("", 400, Unreadable.NOT_A_PATH),
        ("*", 400, Unreadable.NOT_A_PATH),
        ("a/b", 400, Unreadable.NOT_A_PATH),
        ("/" + "x" * LONGEST_PATH, 414, Unreadable.TOO_LONG),
        ("/é", 400, Unreadable.NOT_ASCII),
        ("/a\x00", 400, Unreadable.CONTROL),
        ("/a\nb", 400, Unreadable.CONTROL),
        ("/a%00", 400, Unreadable.CONTROL),
        ("/a%7f", 400, Unreadable.CONTROL),
        ("/a\\b", 400, Unreadable.BACKSLASH),
        ("/a%5Cb", 400, Unreadable.ESCAPED_SLASH),
        ("/a%2fb", 400, Unreadable.ESCAPED_SLASH),
        ("/a%", 400, Unreadable.BROKEN_ESCAPE),
        ("/a%4", 400, Unreadable.BROKEN_ESCAPE),
        ("/a%4x", 400, Unreadable.BROKEN_ESCAPE),
        ("/a b", 400, Unreadable.NOT_ALLOWED),
        ("/a#b", 400, Unreadable.NOT_ALLOWED),
        ("/a{b}", 400, Unreadable.NOT_ALLOWED),
    ],
)
def test_what_readers_take_differently_is_refused(
    target: str, status: int, reason: Unreadable
) -> None:
    assert normalized(target) == Refusal(status=status, reason=reason)


PIECES = st.sampled_from(
    ["/", "a", "%61", "%2e", ".", "..", "%C3%a9", ";", "%25", "%2F", "~", "\\"]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_the_normal_form_is_its_own(pieces: list[str]) -> None:
    path = normalized("/" + "".join(pieces))
    if isinstance(path, str):
        assert normalized(path) == path
        assert "//" not in path
        assert not {".", ".."} & set(path.split("/"))


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("Shop.Example.COM", "shop.example.com"),
        ("a.b:8080", "a.b"),
        ("a.b.", "a.b"),
        ("a.b.:80", "a.b"),
        ("a.b:", "a.b"),
        ("[::1]:80", "[::1]"),
        ("[::1]", "[::1]"),
        ("::1", "::1"),
        ("a.b:http", "a.b:http"),
        ("\u212aelvin.b", "\u212aelvin.b"),
        ("\u0130.B:1", "\u0130.b"),
        ("a.b:\uff11\uff12", "a.b:\uff11\uff12"),
        ("", ""),
    ],
)
def test_a_host_has_one_spelling(authority: str, host: str) -> None:
    assert normalized_host(authority) == host
