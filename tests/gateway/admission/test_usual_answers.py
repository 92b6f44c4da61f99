"""What clients get that are not let on."""

import json

from controlplane.domain.admission.asking import Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.usual_answers import usual

WAIT = Decision(
    verdict=Verdict.WAIT,
    reason="queued",
    policy="room",
    status=503,
    retry_after_s=4.5,
    details={"position": 12},
)


def request(**headers: str) -> Request:
    return Request(path="/", headers={name.replace("_", "-"): v for name, v in headers.items()})


def test_a_program_gets_problem_details() -> None:
    answer = usual(WAIT, request(accept="application/json, text/html"))
    headers = dict(answer.headers)
    assert answer.status == 503
    assert headers["content-type"] == "application/problem+json"
    assert headers["retry-after"] == "5"
    assert headers["cache-control"] == "no-store"
    said = json.loads(answer.body)
    assert (said["code"], said["verdict"], said["retry_after_s"]) == ("queued", "wait", 5)
    assert said["details"] == {"position": 12}


def test_what_was_counted_of_whom_is_not_told_to_who_is_refused() -> None:
    decision = Decision(
        verdict=Verdict.REFUSE, reason="too_many", policy="limit", details={"limit": 10}
    )
    answer = usual(decision, request())
    assert "details" not in json.loads(answer.body)
    assert answer.status == 503
    assert "retry-after" not in dict(answer.headers)


def test_a_browser_gets_a_page_in_its_language() -> None:
    browser = "text/html,application/xhtml+xml,*/*;q=0.8"
    english = usual(WAIT, request(accept=browser, accept_language="en-GB")).body.decode()
    assert '<html lang="en">' in english
    assert "<h1>Please wait a moment</h1>" in english
    assert "5 seconds" in english
    chinese = usual(WAIT, request(accept=browser, accept_language="zh-CN,zh;q=0.9")).body.decode()
    assert '<html lang="zh">' in chinese
    assert "请稍候" in chinese
    never = Decision(verdict=Verdict.REFUSE, reason="x", retry_after_s=float("inf"))
    assert "in a while" in usual(never, request(accept=browser)).body.decode()
