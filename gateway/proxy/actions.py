"""What a route makes of a request: it goes to a service, or is answered here. Pure.

A route that asks for something that this proxy cannot do is refused, never served without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import HeaderChanges, PathMatchType, Redirect, Route
from gateway.admission.enforcing import Answer, Headers
from gateway.proxy.answers import problem
from gateway.routing import version_of

NOT_SUPPORTED = ("authentication", "transform", "queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A request that goes to a service.

    Attributes:
        request: as the service gets it; its headers are all of them, with its host.
        timeout_s: until its answer begins; None is the service's.
        response_headers: changes to the answer's headers.
    """

    service: str
    request: Request
    version: str = EVERY_VERSION
    timeout_s: float | None = None
    response_headers: HeaderChanges | None = None


def action(route: Route | None, request: Request) -> Forward | Answer:
    """What becomes of a request that a route gets."""
    if route is None:
        return problem(404, "route_not_found", "no route has this host and path")
    changes = route.response_headers
    if route.redirect is not None:
        headers: Headers = (("location", _location(route.redirect, request)),)
        return Answer(status=route.redirect.status, headers=changed_lines(headers, changes))
    if route.response is not None:
        said = route.response
        headers = (("content-type", said.content_type),) if said.body else ()
        body = said.body.encode()
        return Answer(status=said.status, headers=changed_lines(headers, changes), body=body)
    for name in NOT_SUPPORTED:
        if getattr(route, name):
            words = f"this proxy does not do the {name} of route {route.id}"
            return problem(501, "route_not_supported", words)
    return Forward(
        service=route.service,
        request=rewritten(route, request),
        version=version_of(route, request),
        timeout_s=None if route.timeout_ms is None else route.timeout_ms / 1_000,
        response_headers=changes,
    )


def rewritten(route: Route, request: Request) -> Request:
    """The request as the route's service gets it."""
    headers = dict(request.headers)
    path = request.path
    if route.rewrite is not None:
        if route.rewrite.path:
            path = route.rewrite.path
        elif route.rewrite.prefix and route.path.type is PathMatchType.PATH_PREFIX:
            rest = path[len(route.path.value.rstrip("/")) :]
            path = route.rewrite.prefix.rstrip("/") + rest or "/"
        if route.rewrite.host:
            headers["host"] = route.rewrite.host
    if route.request_headers is not None:
        headers = changed(headers, route.request_headers)
    return replace(request, path=path, headers=headers)


def changed(headers: Mapping[str, str], changes: HeaderChanges) -> dict[str, str]:
    """Headers with some set and some removed; names in lower case."""
    gone = {name.lower() for name in changes.remove}
    kept = {name: value for name, value in headers.items() if name not in gone}
    return kept | {name.lower(): value for name, value in changes.set}


def changed_lines(headers: Headers, changes: HeaderChanges | None) -> Headers:
    """Lines of an answer's headers with some set and some removed."""
    if changes is None:
        return headers
    gone = {name.lower() for name in changes.remove} | {name.lower() for name, _ in changes.set}
    return (*((name, value) for name, value in headers if name.lower() not in gone), *changes.set)


def _location(redirect: Redirect, request: Request) -> str:
    path = redirect.path or request.path
    query = f"?{request.query}" if request.query and "?" not in path else ""
    if not redirect.host and not redirect.scheme:
        return path + query
    scheme = redirect.scheme or request.headers.get("x-forwarded-proto", "http")
    host = redirect.host or request.headers.get("host", request.host)
    return f"{scheme}://{host}{path}{query}"
