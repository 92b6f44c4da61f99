"""The usual answers of the agent: problem details (RFC 9457), or a page for browsers.

Used where a policy brings no answer of its own. Pages are plain, work without scripts and from the
keyboard, follow the reader's colors, and are in English or Chinese.
"""

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.admission.asking import Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer, Headers
from gateway.admission.languages import reads_chinese

PROBLEM = "application/problem+json"
DEFAULT_STATUS = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a page says in one language."""

    language: str
    wait: str
    refuse: str
    challenge: str
    again: str
    soon: str
    link: str


ENGLISH = Words(
    language="en",
    wait="Please wait a moment",
    refuse="This is not possible right now",
    challenge="Please show that you are a person",
    again="You can try again in {seconds} seconds.",
    soon="You can try again in a while.",
    link="Try again",
)
CHINESE = Words(
    language="zh",
    wait="请稍候",
    refuse="暂时无法处理您的请求",
    challenge="请先完成验证",
    again="您可以在 {seconds} 秒后重试。",
    soon="请稍后重试。",
    link="重试",
)
PAGE = """<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:1.125rem/1.6 system-ui,sans-serif;max-width:36rem;
margin:12vh auto;padding:0 1rem}}a{{display:inline-block;padding:.75rem 0}}</style></head>
<body><main><h1>{title}</h1><p>{text}</p><p><a href="">{link}</a></p></main></body>
</html>
"""


def usual(decision: Decision, request: Request) -> Answer:
    """What a client gets that a policy does not let go on."""
    headers: Headers = (("cache-control", "no-store"),)
    seconds = None
    if decision.retry_after_s is not None and math.isfinite(decision.retry_after_s):
        seconds = max(1, math.ceil(decision.retry_after_s))
        headers += (("retry-after", str(seconds)),)
    status = decision.status or DEFAULT_STATUS
    if wants_page(request.headers):
        kind, body = "text/html; charset=utf-8", _page(decision.verdict, seconds, request.headers)
    else:
        kind, body = PROBLEM, _problem(decision, status, seconds)
    return Answer(status=status, headers=(("content-type", kind), *headers), body=body)


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks; one that takes JSON as well is a program."""
    accept = headers.get("accept", "")
    return "text/html" in accept and "json" not in accept


def _page(verdict: Verdict, seconds: int | None, headers: Mapping[str, str]) -> bytes:
    said = CHINESE if reads_chinese(headers.get("accept-language", "")) else ENGLISH
    titles = {Verdict.WAIT: said.wait, Verdict.CHALLENGE: said.challenge}
    text = said.soon if seconds is None else said.again.format(seconds=seconds)
    page = PAGE.format(
        language=said.language,
        title=html.escape(titles.get(verdict, said.refuse)),
        text=html.escape(text),
        link=html.escape(said.link),
    )
    return page.encode()


def _problem(decision: Decision, status: int, seconds: int | None) -> bytes:
    code = decision.reason or "not_admitted"
    later = "" if seconds is None else f"; come again in {seconds} s"
    found: dict[str, object] = {
        "title": code,
        "status": status,
        "code": code,
        "detail": f"policy {decision.policy} says {decision.verdict.value}{later}",
        "verdict": decision.verdict.value,
    }
    if seconds is not None:
        found["retry_after_s"] = seconds
    if decision.verdict is Verdict.WAIT:
        # A place in a queue is what an app shows; what was counted of whom is for the log only.
        found["details"] = dict(decision.details)
    return json.dumps(found, default=str).encode()
