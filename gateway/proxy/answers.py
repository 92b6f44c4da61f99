"""What is said in place of an upstream: problem details (RFC 9457), short and without secrets."""

import json

from aiohttp import web
from multidict import CIMultiDict

from gateway.admission.enforcing import Answer, Headers
from gateway.admission.usual_answers import PROBLEM

# In place of the library's own name and version.
SERVER = ("server", "signalbox")


def problem(status: int, code: str, detail: str, headers: Headers = ()) -> Answer:
    """An answer that says what is wrong and, in `detail`, what to do."""
    said = {"title": code, "status": status, "code": code, "detail": detail}
    return Answer(
        status=status,
        headers=(("content-type", PROBLEM), ("cache-control", "no-store"), *headers),
        body=json.dumps(said).encode(),
    )


def response(answer: Answer, headers: Headers = ()) -> web.Response:
    """An answer as the library sends it, with some headers more."""
    lines = CIMultiDict((*answer.headers, *headers, SERVER))
    return web.Response(status=answer.status, headers=lines, body=answer.body)


def last_response(answer: Answer) -> web.Response:
    """An answer behind which the connection is closed: what follows on it cannot be trusted."""
    made = response(answer)
    made.force_close()
    return made
