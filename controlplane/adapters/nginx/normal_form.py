"""Normal form of paths by nginx's means; the spellings for which it has none are refused.

nginx decodes every escape, merges slashes and removes dot segments by itself. So a path without
escapes is in normal form, and one whose escapes are all of unreserved characters. One that came in
normal form is put back as it came. Another is escaped again, where that gives the same; else it
gets 400: a mixture of reserved characters with escapes that are written otherwise than they
should be, two slashes beside `..`, or dots that lead above the root (docs/proxies.md).
"""

from collections.abc import Iterator

from controlplane.adapters.nginx.quoting import word
from controlplane.domain.routing.matching.normalization import LONGEST_PATH

_UNRESERVED = "(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
_REFUSED = "(?:2[Ff]|5[Cc]|[01]|7[Ff]|(?![0-9A-Fa-f]{2}))"
# What nginx leaves as it is when it escapes, so that it cannot be told how these came.
_NOT_ESCAPED = "(?:2[1247-9AaCc]|3[AaC-Ec-e]|40|5[BbDdEe]|60|7[B-Db-d])"
_DOTS = r"/(?:\.|%2[Ee]){2}(?:/|\?|$)"
_BAD = (
    "^[^/]",
    r"^[^?]*[^A-Za-z0-9\-._~!$&'()*+,;=:@/%?]",
    f"^[^?]*%{_REFUSED}",
    f"^(?=[^?]*//)(?=[^?]*{_DOTS})",
)
_FORMS = (
    (r"^[^?%]*(?:\?|$)", "plain"),
    (
        rf"^(?![^?]*(?://|/\.{{1,2}}(?:/|\?|$)))"
        rf"(?:[^?%]|%(?!{_UNRESERVED})[0-9A-F]{{2}})*(?:\?|$)",
        "normal",
    ),
    (rf"^(?:[^?%]|%{_UNRESERVED})*(?:\?|$)", "plain"),
    (rf"^(?![^?]*[&+;])(?:[^?%]|%(?!{_NOT_ESCAPED}))*(?:\?|$)", "escape"),
)


def maps() -> Iterator[str]:
    """Maps of the request as it came: why it is refused, and what its path needs."""
    yield 'map $request_uri $sb_raw { "~^(?<sb_raw_is>[^?]*)" $sb_raw_is; default ""; }'
    long = word(f"~^[^?]{{{LONGEST_PATH + 1}}}")
    yield f"map $request_uri $sb_long {{ {long} 1; default 0; }}"
    yield "map $request_uri $sb_bad {"
    yield from (f"    {word('~' + expression)} 1;" for expression in _BAD)
    yield "    default 0;"
    yield "}"
    yield "map $request_uri $sb_form {"
    yield from (f"    {word('~' + expression)} {form};" for expression, form in _FORMS)
    yield "    default refuse;"
    yield "}"


def rewriting() -> Iterator[str]:
    """What every server does with a request before it looks for a location."""
    yield 'if ($sb_long) { return 414 ""; }'
    yield 'if ($sb_bad) { return 400 ""; }'
    yield 'if ($sb_form = refuse) { return 400 ""; }'
    yield "if ($sb_form = normal) { rewrite ^ $sb_raw; }"
    yield "if ($sb_form = escape) {"
    yield "    set $sb_args $args;"
    # Behind a question mark nginx escapes what it inserts.
    yield '    rewrite ^(.*)$ "/?$1?";'
    yield '    rewrite ^ "$args?";'
    yield "    set $args $sb_args;"
    yield "}"
    yield "set $sb_path $uri;"
