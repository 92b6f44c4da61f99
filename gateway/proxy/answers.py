"""What is said in place of an upstream: problem details (RFC 9457), short and without secrets."""

import json
import math

from aiohttp import web
from multidict import CIMultiDict

from controlplane.domain.admission.asking import Decision
from gateway.admission.enforcing import Answer, Headers

# In place of the library's own name and version.
SERVER = ("server", "signalbox")
PROBLEM = "application/problem+json"


def problem(status: int, code: str, detail: str, headers: Headers = ()) -> Answer:
    """An answer that says what is wrong and, in `detail`, what to do."""
    said = {"title": code, "status": status, "code": code, "detail": detail}
    return Answer(
        status=status,
        headers=(("content-type", PROBLEM), ("cache-control", "no-store"), *headers),
        body=json.dumps(said).encode(),
    )


def in_place_of(decision: Decision) -> Answer:
    """The usual answer to a request that a policy does not let go on."""
    headers: Headers = ()
    detail = f"policy {decision.policy}" if decision.policy else "a policy"
    if decision.retry_after_s is not None:
        seconds = max(math.ceil(decision.retry_after_s), 1)
        headers = (("retry-after", str(seconds)),)
        detail += f" says to come again in {seconds} s"
    return problem(decision.status or 503, decision.reason or "not_admitted", detail, headers)


def response(answer: Answer, headers: Headers = ()) -> web.Response:
    """An answer as the library sends it, with some headers more."""
    lines = CIMultiDict((*answer.headers, *headers, SERVER))
    return web.Response(status=answer.status, headers=lines, body=answer.body)


def last_response(answer: Answer) -> web.Response:
    """An answer behind which the connection is closed: what follows on it cannot be trusted."""
    made = response(answer)
    made.force_close()
    return made
