"""What is said in place of an upstream: problem details (RFC 9457), short and without secrets."""

import json

from aiohttp import web
from multidict import CIMultiDict

from gateway.admission.enforcing import Answer, Headers
from gateway.admission.usual_answers import PROBLEM

# In place of the library's own name and version.
SERVER = ("server", "signalbox")


class Streamed(web.StreamResponse):
    """An answer whose type is what the upstream said, and none where it said none.

    The library would say `application/octet-stream`, which browsers download in place of showing.
    """

    async def _prepare_headers(self) -> None:
        typed = "content-type" in self.headers
        await super()._prepare_headers()
        if not typed:
            self.headers.popall("content-type", None)


class Whole(Streamed, web.Response):
    """The same with its body."""


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
    lines = CIMultiDict((*answer.headers, *headers))
    # What was kept of an upstream has the upstream's own.
    lines.setdefault(*SERVER)
    return Whole(status=answer.status, headers=lines, body=answer.body)


def last_response(answer: Answer) -> web.Response:
    """An answer behind which the connection is closed: what follows on it cannot be trusted."""
    made = response(answer)
    made.force_close()
    return made
