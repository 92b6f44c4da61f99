import json
from html.parser import HTMLParser

import pytest

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.session_queue.page import answer
from gateway.admission.session_queue.words import CHINESE, ENGLISH


def asked(**headers: str) -> Asked:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Asked(request=Request(path="/", headers=given), now_s=0.0)


def waiting(reason: str = "queued", **details: object) -> Decision:
    return Decision(
        verdict=Verdict.WAIT, reason=reason, status=503, retry_after_s=4.2, details=details
    )


class Page(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def one(self, tag: str, **attributes: str) -> dict[str, str | None]:
        (found,) = [
            attrs
            for name, attrs in self.elements
            if name == tag
            and attributes.items() <= {k.replace("-", "_"): v for k, v in attrs.items()}.items()
        ]
        return found


def test_people_get_a_page_that_works_without_a_script() -> None:
    shown = answer(asked(accept="text/html,*/*"), waiting(position=30, expected_wait_s=190.0))
    page = Page(shown.body)
    assert page.one("meta", http_equiv="refresh")["content"] == "5"
    assert page.one("html")["lang"] == "en"
    assert page.one("div", role="status")["aria-live"] == "polite"
    assert page.one("meta", name="color-scheme")["content"] == "light dark"
    assert page.one("meta", name="viewport")
    assert "Your position: 30" in page.text
    assert "Expected wait: about 4 min" in page.text
    headers = dict(shown.headers)
    assert headers["retry-after"] == "5"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_programs_get_json() -> None:
    shown = answer(asked(accept="application/json"), waiting(position=3, waiting=9, size=2))
    assert dict(shown.headers)["content-type"] == "application/json"
    assert json.loads(shown.body) == {
        "admitted": False,
        "reason": "queued",
        "poll_s": 4.2,
        "lines": ["Your position: 3", "Expected wait: not known yet"],
        "position": 3,
        "waiting": 9,
        "size": 2,
    }


def test_the_page_is_in_the_readers_language_and_the_operators_title_is_text() -> None:
    request = asked(accept="text/html", accept_language="zh-CN,zh;q=0.9,en;q=0.8")
    shown = answer(request, waiting(position=2, expected_wait_s=20.0), "选课 <b>")
    page = Page(shown.body)
    assert page.one("html")["lang"] == "zh-CN"
    assert "您的位置：第 2 位" in page.text
    assert "不到一分钟" in page.text
    assert not [tag for tag, _ in page.elements if tag == "b"]
    assert dict(shown.headers)["content-language"] == "zh-CN"


@pytest.mark.parametrize(
    ("decision", "lines"),
    [
        (waiting("queue_full"), [ENGLISH.full]),
        (waiting("queue_state_away"), [ENGLISH.away]),
        (waiting("queue_held", position=1), ["Your position: 1", ENGLISH.held]),
        (waiting("queue_not_open", opens_in_s=9.5), [ENGLISH.drawing, "It opens in 10 s."]),
        (waiting(expected_wait_s=61.0), [ENGLISH.drawing, "Expected wait: about 2 min"]),
    ],
)
def test_each_reason_has_its_words(decision: Decision, lines: list[str]) -> None:
    assert json.loads(answer(asked(), decision).body)["lines"] == lines


def test_both_languages_say_everything() -> None:
    for name in ("position", "minutes", "opens"):
        assert getattr(ENGLISH, name).count("{}") == getattr(CHINESE, name).count("{}") == 1
