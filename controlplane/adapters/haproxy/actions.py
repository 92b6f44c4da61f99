"""What a route does beside choosing a service, as lines of its own backend section."""

import re
from collections.abc import Iterator

from controlplane.adapters.haproxy.quoting import format_word, word
from controlplane.domain.routing.route import (
    FixedResponse,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
)

SCHEME = "%[ssl_fc,iif(https,http)]"


def of_request(route: Route) -> Iterator[str]:
    """What happens with a request, in order."""
    if route.authentication:
        # Nobody is let in whom the frontend has not found.
        yield "http-request deny deny_status 403 if !{ var(txn.consumer) -m found }"
    if route.transform:
        yield "http-request return status 501"
    elif route.response is not None:
        yield _response(route.response)
    elif route.redirect is not None:
        yield from _redirect(route.redirect)
    if route.queue is not None:
        full = f"{{ queue gt {route.queue.waiting} }}"
        yield f"http-request deny deny_status 503 if {full}"
    if route.request_headers is not None:
        for header in route.request_headers.remove:
            yield f"http-request del-header {header}"
        for header, value in route.request_headers.set:
            yield f"http-request set-header {header} {format_word(value)}"
    if route.rewrite is not None:
        yield from _rewrite(route, route.rewrite)


def of_response(route: Route) -> Iterator[str]:
    """What happens with the answer of the service."""
    if route.response_headers is None:
        return
    for header in route.response_headers.remove:
        yield f"http-response del-header {header}"
    for header, value in route.response_headers.set:
        yield f"http-response set-header {header} {format_word(value)}"


def _response(response: FixedResponse) -> str:
    # 403 and its like are rules of their own in some versions; `return` takes all.
    answer = f"http-request return status {response.status}"
    if not response.body:
        return answer
    return f"{answer} content-type {word(response.content_type)} string {word(response.body)}"


def _redirect(redirect: Redirect) -> Iterator[str]:
    scheme = redirect.scheme or SCHEME
    host = redirect.host.replace("%", "%%") or "%[req.hdr(host)]"
    path = redirect.path.replace("%", "%%") or "%[path]"
    query = ""
    if "?" not in redirect.path:
        yield 'http-request set-var-fmt(txn.query) "?%[query]" if { query -m len gt 0 }'
        query = "%[var(txn.query)]"
    place = word(f"{scheme}://{host}{path}{query}")
    yield f"http-request return status {redirect.status} hdr location {place}"


def _rewrite(route: Route, rewrite: Rewrite) -> Iterator[str]:
    if rewrite.host:
        yield f"http-request set-header host {format_word(rewrite.host)}"
    if rewrite.path:
        yield f"http-request set-path {format_word(rewrite.path)}"
    if rewrite.prefix and route.path.type is PathMatchType.PATH_PREFIX:
        matched = re.escape(route.path.value.rstrip("/"))
        instead = rewrite.prefix.rstrip("/").replace("\\", "\\\\")
        yield f"http-request replace-path {word(f'^{matched}$')} {format_word(instead or '/')}"
        yield f"http-request replace-path {word(f'^{matched}(/.*)$')} {_with_rest(instead)}"


def _with_rest(text: str) -> str:
    return word(text.replace("%", "%%") + "\\1")
