"""The head of a request, judged once: what two readers could take differently is refused.

The library's parser has refused what is no HTTP; here goes what is HTTP and still means two things
to two readers. What comes out is what routes and policies see *and* what the upstream gets: one
spelling, one line for each header, one way to say where the body ends. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.matching.normalization import (
    Refusal,
    lower,
    normalized_host,
)
from controlplane.domain.routing.matching.request import REQUEST_ID, Request
from gateway.proxy.forwarded import CLAIMS, Claims, Networks, claims

# What belongs to one connection (RFC 9110, section 7.6.1).
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    }
)
# What policies tell a service, and no client ever.
OF_POLICIES = "x-admission-"
# Framing is said anew on each connection; Expect is answered here.
OURS = HOP_BY_HOP | {"expect"}
# A `Connection` that takes one of these away would show the upstream another request.
NEVER_NAMED = frozenset(
    {"authorization", "content-length", "cookie", "host", "transfer-encoding", REQUEST_ID, *CLAIMS}
)
VERSIONS = frozenset({(1, 0), (1, 1)})
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:[0-9]{1,5})?")
_HOST_PORT = re.compile(r":[0-9]{1,5}$")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_QUERY = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?\[\]{}|^`\"<>\\]|%[0-9A-Fa-f]{2})*")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Wrong(StrEnum):
    """Why a head is refused, beside what is wrong with its path."""

    VERSION = "version_not_supported"
    METHOD = "method_not_supported"
    TARGET = "target_not_a_path"
    QUERY = "query_has_bad_characters"
    HOST = "host_invalid"
    HEADER = "header_invalid"
    HEADERS_TOO_LARGE = "headers_too_large"
    LENGTH = "length_ambiguous"
    CODING = "transfer_coding_not_supported"
    CONNECTION = "connection_names_a_protected_header"
    UPGRADE = "upgrade_not_supported"
    EXPECTATION = "expectation_not_supported"
    BODY_TOO_LARGE = "body_too_large"


STATUSES = {
    Wrong.VERSION: 400,
    Wrong.METHOD: 405,
    Wrong.HEADERS_TOO_LARGE: 431,
    Wrong.EXPECTATION: 417,
    Wrong.BODY_TOO_LARGE: 413,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A request that is answered before any route is looked at."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A head as the parser read it.

    Attributes:
        peer: address of the other end.
        request_id: for a request that brings none that is believed.
    """

    method: str
    target: str
    version: tuple[int, int]
    headers: tuple[tuple[bytes, bytes], ...]
    peer: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is accepted; see `ProxyOptions`."""

    trusted: Networks
    most_header_bytes: int
    most_body_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A request as routes, policies and the upstream see it.

    Attributes:
        request: its headers are all that is forwarded, `host` among them.
        length: of the body; None is one in chunks, 0 none.
        expects: it waits for "100 Continue" before it sends its body.
    """

    request: Request
    length: int | None
    expects: bool = False


def judged(head: Head, terms: Terms) -> Judged | Fault:
    """The request that a head means, or why it is refused."""
    lines = _lines(head, terms)
    if isinstance(lines, Wrong):
        return _fault(lines)
    given = _joined(lines)
    wrong = _line_fault(head) or _host_fault(lines) or _framing_fault(head, lines)
    wrong = wrong or _connection_fault(given)
    if wrong is not None:
        return _fault(wrong)
    length = None if "transfer-encoding" in given else int(given.get("content-length", "0"))
    if length is not None and length > terms.most_body_bytes:
        return _fault(Wrong.BODY_TOO_LARGE)
    host = _authority(given["host"])
    believed = claims(given, host, head.peer, terms.trusted)
    request = Request.of(
        head.target,
        method=head.method,
        host=host,
        headers={**_kept(given, head, believed), **believed.headers, "host": host}.items(),
        source=believed.source,
    )
    if isinstance(request, Refusal):
        return Fault(status=request.status, reason=f"path {request.reason}")
    return Judged(request=request, length=length, expects="expect" in given)


def _kept(given: Mapping[str, str], head: Head, believed: Claims) -> dict[str, str]:
    """What goes on of the client's headers, with an id that can be believed."""
    gone = OURS | CLAIMS | _named(given)
    # An underscore is a dash to whoever reads headers as variables (CGI): two names, one meaning.
    kept = {
        name: value
        for name, value in given.items()
        if name not in gone and "_" not in name and not name.startswith(OF_POLICIES)
    }
    if not believed.through_trusted or not _ID.fullmatch(kept.get(REQUEST_ID, "")):
        kept[REQUEST_ID] = head.request_id
    return kept


def _authority(host: str) -> str:
    """A host as rules are compared with it, with the port that came with it."""
    name = normalized_host(host)
    port = _HOST_PORT.search(host)
    return name + port.group() if port is not None else name


def _named(given: Mapping[str, str]) -> set[str]:
    """Headers that `Connection` says belong to it."""
    return {name.strip() for name in given.get("connection", "").lower().split(",")}


def _joined(lines: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """One line for each header, so that nobody downstream can choose among several."""
    joined: dict[str, str] = {}
    for name, value in lines:
        separator = "; " if name == "cookie" else ","
        joined[name] = f"{joined[name]}{separator}{value}" if name in joined else value
    return joined


def _fault(wrong: Wrong) -> Fault:
    return Fault(status=STATUSES.get(wrong, 400), reason=wrong.value)


def _lines(head: Head, terms: Terms) -> list[tuple[str, str]] | Wrong:
    """Header lines as text; what does not come out as it came in is refused."""
    if sum(len(name) + len(value) for name, value in head.headers) > terms.most_header_bytes:
        return Wrong.HEADERS_TOO_LARGE
    lines = []
    for raw_name, raw_value in head.headers:
        try:
            name, value = raw_name.decode("ascii"), raw_value.decode("utf-8")
        except UnicodeDecodeError:
            return Wrong.HEADER
        if not _NAME.fullmatch(name) or _CONTROLS.search(value):
            return Wrong.HEADER
        lines.append((lower(name), value.strip(" \t")))
    return lines


def _line_fault(head: Head) -> Wrong | None:
    if head.version not in VERSIONS:
        return Wrong.VERSION
    if head.method in ("CONNECT", "TRACE"):
        return Wrong.METHOD
    if not head.target.startswith("/"):
        return Wrong.TARGET
    _, _, query = head.target.partition("?")
    return None if _QUERY.fullmatch(query) else Wrong.QUERY


def _host_fault(lines: Iterable[tuple[str, str]]) -> Wrong | None:
    hosts = [value for name, value in lines if name == "host"]
    return None if len(hosts) == 1 and _HOST.fullmatch(hosts[0]) else Wrong.HOST


def _framing_fault(head: Head, lines: list[tuple[str, str]]) -> Wrong | None:
    """RFC 9112, section 6: one length or chunks, never both, never twice."""
    lengths = [value for name, value in lines if name == "content-length"]
    codings = [value for name, value in lines if name == "transfer-encoding"]
    if len(lengths) > 1 or (lengths and codings):
        return Wrong.LENGTH
    if any(not (one.isascii() and one.isdigit() and len(one) < 20) for one in lengths):
        return Wrong.LENGTH
    if codings and ([one.lower() for one in codings] != ["chunked"] or head.version != (1, 1)):
        return Wrong.CODING
    return None


def _connection_fault(given: Mapping[str, str]) -> Wrong | None:
    named = _named(given)
    if named & NEVER_NAMED:
        return Wrong.CONNECTION
    if "upgrade" in named or "upgrade" in given:
        return Wrong.UPGRADE
    if given.get("expect", "100-continue").lower() != "100-continue":
        return Wrong.EXPECTATION
    return None
