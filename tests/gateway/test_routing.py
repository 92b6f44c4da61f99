"""Routing questions, answered from the last good configuration."""

import pytest

from controlplane.domain.errors import Invalid
from gateway.routing import Answer, Question, answer
from tests.gateway.fleet import configured, fleet

TABLE = configured(fleet()).table
COOKIE = "signalbox_sid"


def ask(url: str, **more: object) -> Answer:
    return answer(TABLE, Question(url=url, **more), 0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "route", "service", "status"),
    [
        ("/gates", "all", "gates", 0),
        ("https://www.example.org/gates/7?x=1", "all", "gates", 0),
        ("https://user:word@www.example.org:8443//gates/./7#top", "all", "gates", 0),
        ("/old", "moved", "", 308),
        ("/away", "away", "", 302),
        ("/closed", "closed", "", 403),
        ("/nothing", "", "", 404),
        ("https://www.example.org", "", "", 404),
        ("https://www.example.org?x=/gates", "", "", 404),
        ("/gates/%2Fadmin", "", "", 400),
        ("/" + "x" * 9_000, "", "", 414),
        # Another group's route.
        ("/elsewhere", "", "", 404),
    ],
)
def test_answers(url: str, route: str, service: str, status: int) -> None:
    found = ask(url)
    assert (found.route, found.service, found.status) == (route, service, status)
    assert found.reason


def test_redirects_say_where_to() -> None:
    assert ask("/old").location == "/gates"
    assert ask("/away").location == "https://a.example/x"


def test_the_host_header_is_the_host() -> None:
    assert ask("/gates", headers=(("Host", "b.example"),)).route == "all"


@pytest.mark.parametrize("url", ["", "gates", "http:///x", "http://[::1/x", "ftp:x"])
def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(Invalid, match="URL"):
        ask(url)


def test_a_user_has_one_version_and_the_weights_hold() -> None:
    def version(number: int, header: str) -> str:
        identifier = f"{number:04x}-rest"
        value = f"{COOKIE}={identifier}" if header == "cookie" else identifier
        return ask("/split", headers=((header, value),)).version

    assert version(0, "cookie") == "v1"
    assert version(0xFFFF, "cookie") == "v2"
    assert version(0xFFFF, "x-request-id") == "v2"
    drawn = [ask("/split").version for _ in range(300)]
    assert drawn.count("v1") / 300 == pytest.approx(0.9, abs=0.08)
    assert ask("/gates").version == "*"
