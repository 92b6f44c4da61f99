"""The way of a request: refused or brought into normal form, read, looked up, sent on.

Called by `render`. The order is that of `matching.normalization`: what two readers might
take differently is refused before anything is changed.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from controlplane.adapters.haproxy.access import Access
from controlplane.adapters.haproxy.quoting import in_quotes, word
from controlplane.adapters.haproxy.table import EVERY_HOST, Table
from controlplane.adapters.haproxy.targets import NO_ROUTE
from controlplane.domain.routing.callers.policies import REMOVED_HEADERS
from controlplane.domain.routing.compiling.pcre import first_part
from controlplane.domain.routing.matching.normalization import LONGEST_PATH
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE
from controlplane.domain.topology import GatewayGroup

PATHS_FILE, HOSTS_FILE, SUFFIXES_FILE = "routes.map", "hosts.map", "suffixes.map"
STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"
# Whose request ids are believed: the same as Envoy's internal addresses.
INTERNAL = "10.0.0.0/8 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1 fc00::/7"
# What is in normal form for certain: no escape, no segment that begins with a dot, no two slashes.
_SEGMENT = r"/[A-Za-z0-9\-_~!$&\x27()*+,;=:@][A-Za-z0-9\-._~!$&\x27()*+,;=:@]*+"
_NORMAL = rf"^(?:(?:{_SEGMENT})++/?|/)\z"
_UNREADABLE = (
    r"%(?:2[Ff]|5[Cc]|[01]|7[Ff]|(?![0-9A-Fa-f]{2}))|[^A-Za-z0-9\-._~!$&\x27()*+,;=:@/%]|^[^/]|^$"
)


class Asks(StrEnum):
    """What anything behind a frontend must know of who asks: answers of our own need nothing."""

    USER = "user"
    REQUEST = "request"
    NOTHING = "nothing"


def section(group: GatewayGroup, table: Table, access: Access, asks: Asks) -> Iterator[str]:
    """The lines of a group's frontend."""
    yield f"frontend {group.name}"
    yield f"bind {group.listen_address}:{group.listen_port}"
    yield from access.connections(group)
    yield from _normal_form()
    yield from _identity(asks)
    yield from table.tests.variables()
    yield from table.tests.acls()
    yield from _host(table)
    yield from _path(table)
    yield from table.lines
    yield from access.callers.lines
    # What is no section's name goes on to the default.
    yield "use_backend %[var(txn.s)]"
    yield f"default_backend {NO_ROUTE}"


def _normal_form() -> Iterator[str]:
    """Most paths have no spelling that needs a look, so one expression decides for all.

    It reads what is in order, because a search for what is not tries each alternative at each
    character. A path that it fails on, for whatever reason, is looked at.
    """
    yield f"http-request return status 414 if {{ path -m len gt {LONGEST_PATH} }}"
    yield f"http-request set-var(txn.odd) bool(true) if !{{ path -m reg -- {word(_NORMAL)} }}"
    odd = "if { var(txn.odd) -m found }"
    unreadable = f"{{ path -m reg -- {word(_UNREADABLE)} }}"
    yield f"http-request deny deny_status 400 {odd} {unreadable}"
    yield f"http-request normalize-uri percent-decode-unreserved strict {odd}"
    yield f"http-request normalize-uri percent-to-uppercase strict {odd}"
    yield f"http-request normalize-uri path-strip-dot {odd}"
    yield f"http-request normalize-uri path-strip-dotdot full {odd}"
    yield f"http-request normalize-uri path-merge-slashes {odd}"


def _identity(asks: Asks) -> Iterator[str]:
    """Who asks: the sticky cookie, or the id of the request, which becomes the cookie."""
    if asks is Asks.NOTHING:
        return
    for header in REMOVED_HEADERS:
        yield f"http-request del-header {header}"
    yield (
        f"http-request set-header {REQUEST_ID} %[uuid()] "
        f"unless {{ req.hdr({REQUEST_ID}) -m found }} {{ src {INTERNAL} }}"
    )
    if asks is Asks.USER:
        yield from _user()


def _user() -> Iterator[str]:
    sid = first_part(STICKY_COOKIE, ";")
    cookie = f'req.fhdr(cookie),regsub("{in_quotes(sid)}","\\1")'
    given = f"{{ req.fhdr(cookie) -m reg -- {word(sid)} }}"
    yield f"http-request set-var(txn.rid) req.hdr({REQUEST_ID})"
    yield f"http-request set-var(txn.sid) {word(cookie)} if {given}"
    yield "http-request set-var(txn.who) var(txn.rid)"
    yield "http-request set-var(txn.who) var(txn.sid) if { var(txn.sid) -m found }"
    value = word(f"{STICKY_COOKIE}=%[var(txn.rid)]; {STICKY_ATTRIBUTES}")
    yield (
        f"http-after-response add-header set-cookie {value} "
        "if !{ var(txn.sid) -m found } { var(txn.rid) -m found }"
    )


def _host(table: Table) -> Iterator[str]:
    """The table of the most specific host that has one."""
    if table.only is not None:
        return
    every = table.hosts.get(EVERY_HOST)
    port, dot = 'regsub("(?<!:):[0-9]*$","")', 'regsub("[.]$","")'
    yield "http-request set-var(txn.h) req.hdr(host),lower"
    yield f"http-request set-var(txn.h) 'var(txn.h),{port}' if {{ var(txn.h) -m sub : }}"
    yield f"http-request set-var(txn.h) 'var(txn.h),{dot}' if {{ var(txn.h) -m end . }}"
    yield f"http-request set-var(txn.t) var(txn.h),map_str({HOSTS_FILE})"
    missing = "if !{ var(txn.t) -m found }"
    if any(host.startswith("*.") for host in table.hosts):
        yield f"http-request set-var(txn.t) var(txn.h),map_end({SUFFIXES_FILE}) {missing}"
    if every is not None:
        yield f"http-request set-var(txn.t) str(t{every}) {missing}"


def _path(table: Table) -> Iterator[str]:
    key, found = "txn.k", "http-request set-var(txn.s)"
    if table.only is None:
        yield f'http-request set-var-fmt({key}) "%[var(txn.t)]q0%[path]/?"'
        yield f"{found} var({key}),map_beg({PATHS_FILE})"
    else:
        yield f"{found} path,concat(/?),map_beg({PATHS_FILE})"
    for level, skips in enumerate(table.skips):
        onward = "if { var(txn.s) -m beg p }"
        if not level:
            yield f'http-request set-var-fmt({key}) "%[var(txn.s)]%[path]/?" {onward}'
        begun = f"var({key})" if not level else f"var(txn.s),concat(/,{key})"
        # Behind the first level the state before stands in front of the rest.
        rest = f'{begun},regsub("{in_quotes(_skipping(skips, level > 0))}","\\1")'
        yield f"http-request set-var({key}) {word(rest)} {onward}"
        yield f"{found} var({key}),map_beg({PATHS_FILE}) {onward}"
    if table.has_methods:
        by_method = "if { var(txn.s) -m beg m }"
        yield f'http-request set-var-fmt({key}) "%[var(txn.s)]:%[method]:" {by_method}'
        yield f"{found} var({key}),map_beg({PATHS_FILE}) {by_method}"


def _skipping(skips: Iterable[int], behind: int) -> str:
    """What stands between a state and the rest of the path, for each number of segments."""
    ways = (rf"{skipped}\.([^/]*)(?:/[^/]*){{{skipped + behind + 1}}}" for skipped in sorted(skips))
    return f"^p(?|{'|'.join(ways)})"
