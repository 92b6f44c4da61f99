"""What is done with requests, as Traefik's middlewares: each kind once, named after what it does.

Traefik has no answer of its own, but it refuses addresses with any status: a list with an address
that nobody has refuses everybody. Called by `table`.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.routing.callers.policies import REMOVED_HEADERS
from controlplane.domain.routing.route import (
    HeaderChanges,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
)

Json = dict[str, Any]
# The address of the limited broadcast, which no connection comes from.
NOBODY = "255.255.255.255/32"
NO_CHANGES = HeaderChanges()
PAUSE = "5ms"
_URL = r"^(https?)://([^/]+)([^?]*)(\?.*)?$"
PERMANENT = frozenset({301, 308})


@dataclass(slots=True)
class Middlewares:
    """The middlewares that routers name."""

    _found: dict[str, Json] = field(default_factory=dict)

    def named(self) -> dict[str, Json]:
        """All of them, by name."""
        return dict(sorted(self._found.items()))

    def entry(self, sources: tuple[str, ...]) -> list[str]:
        """What is done with every request: who may come in, and what nobody may send."""
        inside = [self._of("zone", {"ipAllowList": {"sourceRange": list(sources)}})]
        dropped = {"headers": {"customRequestHeaders": dict.fromkeys(REMOVED_HEADERS, "")}}
        return [*(inside if sources else ()), self._of("entry", dropped)]

    def answer(self, status: int) -> str:
        """Answers everybody with a status and its words."""
        wall = {"sourceRange": [NOBODY], "rejectStatusCode": status}
        return self._of("answer", {"ipAllowList": wall})

    def redirect(self, redirect: Redirect) -> str:
        """Leads to another address; Traefik chooses between 302 and 307, 301 and 308 itself."""
        path = _literal(redirect.path) or "${3}"
        query = "" if "?" in redirect.path else "${4}"
        scheme, host = _literal(redirect.scheme) or "${1}", _literal(redirect.host) or "${2}"
        leading = {
            "regex": _URL,
            "replacement": f"{scheme}://{host}{path}{query}",
            "permanent": redirect.status in PERMANENT,
        }
        return self._of("redirect", {"redirectRegex": leading})

    def headers(self, route: Route) -> list[str]:
        """Headers that are set and removed; also the host that the service sees."""
        asked, answered = route.request_headers or NO_CHANGES, route.response_headers or NO_CHANGES
        request = _changes(asked)
        if route.rewrite is not None and route.rewrite.host:
            request["Host"] = route.rewrite.host
        response = _changes(answered)
        found = {"customRequestHeaders": request, "customResponseHeaders": response}
        wanted = {name: changes for name, changes in found.items() if changes}
        return [self._of("headers", {"headers": wanted})] if wanted else []

    def rewriting(self, route: Route) -> list[str]:
        """The path that the service sees."""
        return [self._of("path", {"replacePathRegex": one}) for one in _rewrites(route)]

    def queue(self, queue: SlowQueue) -> str:
        """As many requests at once; the others get 429."""
        limit = {"amount": queue.concurrent, "sourceCriterion": {"requestHost": True}}
        return self._of("queue", {"inFlightReq": limit})

    def retry(self, retries: int) -> list[str]:
        """Further tries, on other addresses, of what no service has seen."""
        if not retries:
            return []
        return [self._of("retry", {"retry": {"attempts": retries + 1, "initialInterval": PAUSE}})]

    def _of(self, kind: str, made: Json) -> str:
        text = json.dumps(made, sort_keys=True)
        name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self._found[name] = made
        return name


def _changes(changes: HeaderChanges) -> dict[str, str]:
    """For Traefik a header is removed by an empty value."""
    return {**dict.fromkeys(changes.remove, ""), **dict(changes.set)}


def _rewrites(route: Route) -> Iterator[Json]:
    rewrite = route.rewrite or Rewrite()
    if rewrite.path:
        yield {"regex": "^.*$", "replacement": _literal(rewrite.path)}
    if rewrite.prefix and route.path.type is PathMatchType.PATH_PREFIX:
        matched = re.escape(route.path.value.rstrip("/"))
        instead = rewrite.prefix.rstrip("/")
        if instead:
            yield {"regex": f"^{matched}(/.*)?$", "replacement": f"{_literal(instead)}${{1}}"}
        else:
            yield {"regex": f"^{matched}/?", "replacement": "/"}


def _literal(text: str) -> str:
    """A text in a replacement, where a dollar would name a group."""
    return text.replace("$", "$$")
