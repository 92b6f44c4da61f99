"""What a route does, as Caddy's handlers. Called by `table`."""

import re
from collections.abc import Iterator

from controlplane.adapters.caddy.matchers import Json
from controlplane.adapters.caddy.upstreams import Upstreams
from controlplane.domain.routing.compiling.choices import Choice
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
)

NO_CHANGES = HeaderChanges()
_SCHEME, _HOST = "{http.request.scheme}", "{http.request.hostport}"
_PATH = "{http.vars.sb_path}"
# The question mark and the query, or nothing.
QUERY = "{http.vars.sb_query}"
SET_COOKIE = "set-cookie"


def plain(text: str) -> str:
    """A text that Caddy reads with placeholders, giving the text again."""
    return text.replace("{", r"\{").replace("}", r"\}") if "{" in text else text


def answer(status: int, body: str = "", headers: dict[str, str] | None = None) -> Json:
    """Answer without a service."""
    made: Json = {"handler": "static_response", "status_code": status}
    if body:
        made["body"] = body
    if headers:
        made["headers"] = {name: [value] for name, value in headers.items()}
    return made


def handlers(choice: Choice, upstreams: Upstreams) -> list[Json]:
    """What is done with the requests of a choice, one after the other."""
    route = choice.route
    if route.authentication:
        # Nobody is let in whom we cannot check.
        return [answer(403)]
    if route.transform:
        return [answer(501)]
    if route.response is not None:
        return [_response(route.response)]
    if route.redirect is not None:
        return [_redirect(route.redirect)]
    proxy = upstreams.of(route, choice.version)
    if proxy is None:
        return [answer(503)]
    return [*_headers(route), *_rewrites(route), proxy]


def _response(response: FixedResponse) -> Json:
    kind = {"content-type": plain(response.content_type)} if response.body else None
    return answer(response.status, plain(response.body), kind)


def _redirect(redirect: Redirect) -> Json:
    scheme = plain(redirect.scheme) or _SCHEME
    host = plain(redirect.host) or _HOST
    path = plain(redirect.path) or _PATH
    query = "" if "?" in redirect.path else QUERY
    return answer(redirect.status, headers={"location": f"{scheme}://{host}{path}{query}"})


def _rewrites(route: Route) -> Iterator[Json]:
    rewrite = route.rewrite or Rewrite()
    if rewrite.path:
        yield _rewriting(r"\A(?s:.*)\z", rewrite.path)
    if rewrite.prefix and route.path.type is PathMatchType.PATH_PREFIX:
        matched = re.escape(route.path.value.rstrip("/"))
        instead = rewrite.prefix.rstrip("/")
        if instead:
            yield _rewriting(rf"\A{matched}(/.*)?\z", instead, r"$\{1\}")
        else:
            yield _rewriting(rf"\A{matched}/?", "/")


def _rewriting(find: str, instead: str, rest: str = "") -> Json:
    # A dollar would name a group, and a brace a placeholder.
    replace = plain(instead.replace("$", "$$")) + rest
    return {"handler": "rewrite", "path_regexp": [{"find": find, "replace": replace}]}


def _headers(route: Route) -> Iterator[Json]:
    asked = route.request_headers or NO_CHANGES
    answered = route.response_headers or NO_CHANGES
    host = (
        () if route.rewrite is None or not route.rewrite.host else (("host", route.rewrite.host),)
    )
    request = _changes(HeaderChanges(set=(*host, *asked.set), remove=asked.remove))
    response = _changes(answered)
    made: Json = {"handler": "headers"}
    if request:
        made["request"] = request
    if response:
        # When the service has answered; before that there is nothing to remove.
        made["response"] = {**response, "deferred": True}
    if len(made) > 1:
        yield made


def _changes(changes: HeaderChanges) -> Json:
    made: Json = {}
    # The sticky cookie is a line of the same name.
    added = {name: [plain(v)] for name, v in changes.set if name.lower() == SET_COOKIE}
    put = {name: [plain(v)] for name, v in changes.set if name.lower() != SET_COOKIE}
    removed = [name for name in changes.remove if name.lower() not in {n.lower() for n in put}]
    for key, value in (("add", added), ("set", put), ("delete", removed)):
        if value:
            made[key] = value
    return made
