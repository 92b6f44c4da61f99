"""What a route does, as the body of a location.

A plain answer stands where the path is found. Whatever is chosen by conditions has a location of
its own, whose name no path has. Called by `table`.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from controlplane.adapters.nginx.limits import Limits
from controlplane.adapters.nginx.quoting import inner, plain, word
from controlplane.adapters.nginx.upstreams import Upstreams
from controlplane.domain.routing.callers.policies import IDENTITY_HEADERS
from controlplane.domain.routing.compiling.choices import Choice
from controlplane.domain.routing.matching.request import REQUEST_ID
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
)

CONNECT_TIMEOUT_MS = 250
# After what another server is asked.
NEXT = "error timeout http_502 http_503 http_504"
NO_CHANGES = HeaderChanges()


@dataclass(slots=True)
class Locations:
    """Bodies of locations, and the locations of routes that are chosen by conditions."""

    upstreams: Upstreams
    limits: Limits
    _own: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)

    def inline(self, choice: Choice) -> str:
        """The body of a location where a choice takes everything."""
        return " ".join(self._lines(choice))

    def own(self, choice: Choice) -> str:
        """Name of the location of a choice."""
        key = (choice.route.id, choice.version)
        if key not in self._own:
            self._own[key] = (f"!{len(self._own)}", self.inline(choice))
        return self._own[key][0]

    def lines(self, names: Collection[str]) -> Iterator[str]:
        """Some of the locations of their own."""
        for name, body in self._own.values():
            if name in names:
                yield f"location = {word(name)} {{ {body} }}"

    def _lines(self, choice: Choice) -> Iterator[str]:
        route = choice.route
        if route.authentication:
            # Nobody is let in whom we cannot check.
            yield 'return 403 "";'
        elif route.transform:
            yield 'return 501 "";'
        elif route.response is not None:
            yield from _response(route.response)
        elif route.redirect is not None:
            yield _redirect(route.redirect)
        else:
            yield from self._proxied(choice)

    def _proxied(self, choice: Choice) -> Iterator[str]:
        route = choice.route
        upstream = self.upstreams.of(route.service, choice.version)
        if upstream is None:
            yield 'return 503 "";'
            return
        yield from self.limits.of_location(self.upstreams.services[route.service])
        if route.queue is not None:
            yield self._limit(route, route.queue.concurrent)
        if route.rewrite is not None:
            yield from _rewrite(route, route.rewrite)
        patience = self.upstreams.patience(route.service)
        timeout_ms = patience.timeout_ms if route.timeout_ms is None else route.timeout_ms
        retries = patience.retries if route.retries is None else route.retries
        yield f"proxy_read_timeout {timeout_ms}ms; proxy_next_upstream_tries {retries + 1};"
        if patience.server_errors:
            yield f"proxy_next_upstream {NEXT} http_500;"
        yield from _headers(route)
        yield f"proxy_pass http://{upstream}$sb_path$is_args$args;"

    def _limit(self, route: Route, concurrent: int) -> str:
        zone = self.zones.setdefault(route.id, f"sb_q{len(self.zones)}")
        return f"limit_conn {zone} {concurrent};"


def _response(response: FixedResponse) -> Iterator[str]:
    if response.body:
        yield f"default_type {plain(response.content_type)};"
    yield f"return {response.status} {plain(response.body)};"


def _redirect(redirect: Redirect) -> str:
    scheme = inner(redirect.scheme) or "$scheme"
    host = inner(redirect.host) or "$http_host"
    path = inner(redirect.path) or "$sb_path"
    query = "" if "?" in redirect.path else "$is_args$args"
    return f'return {redirect.status} "{scheme}://{host}{path}{query}";'


def _rewrite(route: Route, rewrite: Rewrite) -> Iterator[str]:
    if rewrite.path:
        yield f"set $sb_path {plain(rewrite.path)};"
    if rewrite.prefix and route.path.type is PathMatchType.PATH_PREFIX:
        matched = route.path.value.rstrip("/")
        instead = rewrite.prefix.rstrip("/")
        expression = word(f"^{re.escape(matched)}(?<sb_rest>/.*)$")
        yield f"if ($sb_path = {plain(matched or '!')}) {{ set $sb_path {plain(instead or '/')}; }}"
        yield f'if ($sb_path ~ {expression}) {{ set $sb_path "{inner(instead)}$sb_rest"; }}'


def _headers(route: Route) -> Iterator[str]:
    """All headers: what a location says of them replaces what the server says."""
    asked = route.request_headers or NO_CHANGES
    answered = route.response_headers or NO_CHANGES
    host = "$http_host" if route.rewrite is None or not route.rewrite.host else ""
    wanted = {
        "host": host or plain(route.rewrite.host if route.rewrite else ""),
        "connection": '""',
        REQUEST_ID: "$sb_rid",
        "x-forwarded-for": "$proxy_add_x_forwarded_for",
        **dict.fromkeys(IDENTITY_HEADERS, '""'),
        **dict.fromkeys((name.lower() for name in asked.remove), '""'),
        **{name.lower(): plain(value) for name, value in asked.set},
    }
    if asked != NO_CHANGES or (route.rewrite is not None and route.rewrite.host):
        yield from (f"proxy_set_header {name} {value};" for name, value in wanted.items())
    hidden = dict.fromkeys([*answered.remove, *(name for name, _ in answered.set)])
    yield from (f"proxy_hide_header {name};" for name in hidden)
    if answered.set:
        yield "add_header set-cookie $sb_set_cookie always;"
        yield from (f"add_header {name} {plain(value)} always;" for name, value in answered.set)


def usual_headers() -> Iterator[str]:
    """What every server says of headers."""
    yield "proxy_set_header host $http_host;"
    yield 'proxy_set_header connection "";'
    yield f"proxy_set_header {REQUEST_ID} $sb_rid;"
    yield "proxy_set_header x-forwarded-for $proxy_add_x_forwarded_for;"
    yield from (f'proxy_set_header {name} "";' for name in IDENTITY_HEADERS)
    yield "add_header set-cookie $sb_set_cookie always;"
