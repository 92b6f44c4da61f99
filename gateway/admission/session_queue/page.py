"""What somebody who waits gets: a page for people, JSON for programs.

The page works without a script by loading itself again, tells changes to screen readers, and is
light or dark as the reader has it. With a script it asks in the background (`QUESTION` in the
request's header) and loads the site when it is his turn.
"""

import json
import math
from html import escape

from controlplane.domain.admission.asking import Asked, Decision
from gateway.admission.enforcing import Answer
from gateway.admission.session_queue.words import Words, words

# A request with this header only wants to know where its session stands.
QUESTION = "x-signalbox-queue"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)
SHARED = (("cache-control", "no-store"), ("vary", "accept, accept-language, cookie"))

PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<noscript><meta http-equiv="refresh" content="{seconds}"></noscript>
<title>{title}</title>
<style>
body {{ font: 1.125rem/1.6 system-ui, sans-serif; color-scheme: light dark; margin: 0;
  color: #1b1f24; background: #f6f8fa; }}
main {{ max-width: 34rem; margin: 12vh auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.75rem; }}
.where {{ font-size: 1.5rem; margin: 0; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e6edf3; background: #0d1117; }} }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div role="status" aria-live="polite" aria-atomic="true" id="status">
{lines}
</div>
<p>{stay}</p>
</main>
<script>
(function () {{
  var status = document.getElementById("status"), shown = status.innerText;
  function later(seconds) {{ setTimeout(ask, seconds * 1000); }}
  function ask() {{
    fetch(location.href, {{headers: {{"accept": "application/json", "accept-language": "{lang}",
      "{question}": "ask"}}, credentials: "same-origin", cache: "no-store"}})
      .then(function (answer) {{ return answer.ok ? null : answer.json(); }})
      .then(function (told) {{
        if (told === null) {{ location.reload(); return; }}
        var text = told.lines.join("\\n");
        if (text !== shown) {{ status.textContent = ""; told.lines.forEach(function (line) {{
          var p = document.createElement("p"); p.className = "where"; p.textContent = line;
          status.appendChild(p); }}); shown = text; }}
        later(told.poll_s);
      }})
      .catch(function () {{ later({seconds}); }});
  }}
  later({seconds});
}})();
</script>
</body>
</html>
"""


def answer(asked: Asked, decision: Decision, title: str = "") -> Answer:
    """The answer to somebody who waits or is turned away."""
    language = words(asked.request.headers.get("accept-language", ""))
    lines = _lines(decision, language)
    seconds = max(1, math.ceil(decision.retry_after_s or 1))
    headers = (*SHARED, ("retry-after", str(seconds)))
    if not _wants_page(asked):
        told = {
            "admitted": False,
            "reason": decision.reason,
            "poll_s": round(decision.retry_after_s or 1.0, 2),
            "lines": lines,
            **decision.details,
        }
        return Answer(
            status=decision.status,
            headers=(("content-type", "application/json"), *headers),
            body=json.dumps(told, ensure_ascii=False).encode(),
        )
    page = PAGE.format(
        lang=language.lang,
        title=escape(title or language.title),
        seconds=seconds,
        lines="\n".join(f'<p class="where">{escape(line)}</p>' for line in lines),
        stay=escape(language.stay),
        question=QUESTION,
    )
    kind = (
        ("content-type", "text/html; charset=utf-8"),
        ("content-language", language.lang),
        ("content-security-policy", POLICY),
    )
    return Answer(status=decision.status, headers=(*kind, *headers), body=page.encode())


def your_turn() -> Answer:
    """The answer to a question of somebody who is inside: he may load the site now."""
    headers = (("content-type", "application/json"), *SHARED)
    return Answer(status=200, headers=headers, body=b'{"admitted": true}')


def is_question(asked: Asked) -> bool:
    """Whether a request only wants to know where its session stands."""
    return QUESTION in asked.request.headers


def _wants_page(asked: Asked) -> bool:
    accepted = asked.request.headers.get("accept", "")
    return "text/html" in accepted and not is_question(asked)


def _lines(decision: Decision, language: Words) -> list[str]:
    if decision.reason == "queue_full":
        return [language.full]
    if decision.reason == "queue_state_away":
        return [language.away]
    details = decision.details
    position = details.get("position")
    lines = [language.position.format(position) if position else language.drawing]
    if decision.reason == "queue_held":
        return [*lines, language.held]
    opens_in_s = details.get("opens_in_s")
    if isinstance(opens_in_s, float):
        return [*lines, language.opens.format(math.ceil(opens_in_s))]
    return [*lines, _wait(details.get("expected_wait_s"), language)]


def _wait(wait_s: object, language: Words) -> str:
    if not isinstance(wait_s, float):
        return language.not_known
    minutes = math.ceil(wait_s / 60)
    return language.minutes.format(minutes) if minutes > 1 else language.soon
