"""A routing question answered here: which route a request gets, and what happens with it.

Used by the application's client and by `python -m gateway route`. The matcher is that of the
control plane, on the routes that were served last.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from controlplane.domain.errors import Invalid
from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.routing.matching.cohorts import DIGITS, bounds, number
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE, Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Cohort, Route

NOT_FOUND = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request.

    Attributes:
        url: `https://host/path?query`, or the path alone.
        source: address of the caller, "" is unknown.
    """

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What becomes of a request.

    Attributes:
        route: id of the route that it gets; "" is none.
        reason: why, in words.
        service: who serves it; "" when it is answered without one.
        version: of the service, `*` is any.
        status: of an answer without a service; 0 when a service gives it.
        location: of a redirect, as far as the route says it.
    """

    route: str
    reason: str
    service: str = ""
    version: str = EVERY_VERSION
    status: int = 0
    location: str = ""


def answer(table: Table, question: Question, now_s: float) -> Answer:
    """Answer a question from a table.

    Raises:
        Invalid: the URL is none.
    """
    request = _request(question)
    if isinstance(request, Refusal):
        return Answer(route="", reason=request.reason, status=request.status)
    match = table.match(request, now_s)
    if match.route is None:
        return Answer(route="", reason=match.reason.value, status=NOT_FOUND)
    return _outcome(match.route, match.reason.value, request)


def _request(question: Question) -> Request | Refusal:
    try:
        parts = urlsplit(question.url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise Invalid("url_invalid", f"{question.url[:200]!r} is no URL: {error}") from error
    # Not what urlsplit made of the path: what a gateway would see counts, slip or not.
    target = question.url
    if parts.scheme and host:
        _, _, rest = target.partition("://")
        target = rest[len(parts.netloc) :] or "/"
        target = target if target.startswith("/") else f"/{target}"
    if not target.startswith("/"):
        raise Invalid(
            "url_invalid",
            f"{question.url[:200]!r} is neither a URL with a host nor a path: begin with "
            "https://HOST/ or with /",
        )
    named = next((value for name, value in question.headers if name.lower() == "host"), host)
    return Request.of(
        target.partition("#")[0],
        method=question.method,
        host=named,
        headers=question.headers,
        source=question.source,
    )


def _outcome(route: Route, reason: str, request: Request) -> Answer:
    if route.redirect is not None:
        to = route.redirect
        where = f"{to.scheme}://{to.host}{to.path}" if to.host else to.path
        return Answer(route=route.id, reason=reason, status=to.status, location=where)
    if route.response is not None:
        return Answer(route=route.id, reason=reason, status=route.response.status)
    return Answer(
        route=route.id, reason=reason, service=route.service, version=version_of(route, request)
    )


def version_of(route: Route, request: Request) -> str:
    """The version of the user's number, or of the request's while he has none."""
    found = number(request.cookies.get(STICKY_COOKIE, ""))
    if found is None:
        found = number(request.headers.get(REQUEST_ID, ""))
    if found is None:
        found = int(secrets.token_hex(DIGITS // 2), 16)
    low = 0
    weights: Iterable[tuple[str, int]] = ((one.version, one.weight) for one in route.versions)
    for version, weight in weights:
        first, behind = bounds(Cohort(low=low, high=low + weight))
        if first <= found < behind:
            return version
        low += weight
    return EVERY_VERSION
