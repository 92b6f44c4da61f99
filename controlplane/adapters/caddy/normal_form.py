"""Normal form of paths by Caddy's means: expressions that rewrite a path until it is in it.

Most paths are in normal form and meet one expression. Caddy sees the target as it came, so what
no path may have is refused before anything is rewritten. Called by `render`.
"""

from collections.abc import Iterator

from controlplane.adapters.caddy.matchers import Json, text
from controlplane.domain.routing.matching.normalization import LONGEST_PATH, UNRESERVED

RAW, URI = "{http.request.orig_uri}", "{http.request.uri}"
# Segments that `..` takes back, one within the other; what has more is refused.
MOST_NESTED = 16
_UNRESERVED = "(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
_BAD = (
    r"\A(?:[^/]|\z"
    r"|[^?]*[^A-Za-z0-9\-._~!$&'()*+,;=:@/%?]"
    r"|[^?]*%(?:2[Ff]|5[Cc]|[01]|7[Ff]|[^0-9A-Fa-f]|[0-9A-Fa-f](?:[^0-9A-Fa-f]|\z)|\z))"
)
_OTHER = r"\A[^?]*(?://|/\.{1,2}(?:[/?]|\z)|%[a-f]|%[0-9A-F][a-f]|%" + _UNRESERVED + ")"
# A segment that is neither `.` nor `..`.
_SEGMENT = r"(?:[^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+|)"


def refusing() -> Iterator[Json]:
    """Routes that answer what has no normal form."""
    long = f'string({RAW}).split("?")[0].size() > {LONGEST_PATH}'
    yield _answer({"expression": long}, 414)
    yield _answer(text(RAW, _BAD), 400)


def rewriting() -> Iterator[Json]:
    """Routes that bring a path into normal form, and keep it for the rules."""
    changes = [{"find": find, "replace": instead} for find, instead in _changes()]
    yield {"match": [text(RAW, _OTHER)], "handle": [{"handler": "rewrite", "path_regexp": changes}]}
    yield _answer(text(URI, r"\A[^?]*/\.\.(?:[/?]|\z)"), 400)
    # As it came where nothing was changed: Go escapes some characters that nobody has to.
    yield _kept(text(RAW, r"\A([^?]*)", "raw"), "raw")
    other = {**text(URI, r"\A([^?]*)", "changed"), "not": [_not(text(RAW, _OTHER))]}
    yield _kept(other, "changed")


def _changes() -> Iterator[tuple[str, str]]:
    for character in sorted(UNRESERVED):
        yield f"(?i:%{ord(character):02X})", character
    for digit in "abcdef":
        yield f"%{digit}([0-9A-Fa-f])", f"%{digit.upper()}$1"
    for digit in "abcdef":
        # Braces are escaped, or Caddy takes the group for a placeholder.
        yield f"%([0-9A-F]){digit}", rf"%$\{{1\}}{digit.upper()}"
    yield r"(?:/\.)+(?:/|\z)", "/"
    yield from [(rf"/{_SEGMENT}/\.\.(?:/|\z)", "/")] * MOST_NESTED
    yield r"\A(?:/\.\.)+(?:/|\z)", "/"
    yield "/{2,}", "/"


def _answer(matcher: Json, status: int) -> Json:
    answer = {"handler": "static_response", "status_code": status}
    return {"match": [matcher], "handle": [answer], "terminal": True}


def _kept(matcher: Json, group: str) -> Json:
    value = f"{{http.regexp.{group}.1}}"
    return {"match": [matcher], "handle": [{"handler": "vars", "sb_path": value}]}


def _not(matcher: Json) -> Json:
    return {"not": [matcher]}
