"""Protection of external routes: what nobody may send, whoever he is.

Block lists, limits of size, allowed encodings, and a hook for rule sets: match functions of the
registry. Nothing is remembered from one request to the next. `judge_of` is made once for a policy
and asked for each request; a proxy asks again while a body comes in.
"""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.expressions import compiled, fault, of_template
from controlplane.domain.routing.matching.conditions import of_sources
from controlplane.domain.routing.matching.functions import Registry, faults, predicate
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import FunctionCall, PathMatch, PathMatchType

MOST_ITEMS = 10_000
MOST_BODY_BYTES = 1 << 40
# What has no coding at all (RFC 9110, section 8.4.1).
IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionPolicy:
    """What is refused. Lists have at most 10,000 items.

    Attributes:
        blocked_sources: networks (CIDR) of callers.
        blocked_methods: in upper case.
        blocked_paths: patterns that are compared with the path in normal form.
        blocked_when: match functions; a request for which one holds is refused.
        most_body_bytes: largest body, 0..2^40.
        most_headers: number of header names, 1..10,000.
        most_header_bytes: of all names and values together, 1..16,777,216.
        most_url_bytes: path and query, 1..1,048,576; paths end at 8,192 in any case.
        encodings: content codings that a body may have; none at all is always allowed.
    """

    blocked_sources: tuple[str, ...] = ()
    blocked_methods: tuple[str, ...] = ("TRACE", "TRACK")
    blocked_paths: tuple[PathMatch, ...] = ()
    blocked_when: tuple[FunctionCall, ...] = ()
    most_body_bytes: int = 10_485_760
    most_headers: int = 100
    most_header_bytes: int = 32_768
    most_url_bytes: int = 8_192
    encodings: tuple[str, ...] = ("br", "deflate", "gzip", "zstd")


LIMITS = (
    ("most_body_bytes", 0, MOST_BODY_BYTES),
    ("most_headers", 1, 10_000),
    ("most_header_bytes", 1, 16_777_216),
    ("most_url_bytes", 1, 1_048_576),
)
LISTS = ("blocked_sources", "blocked_methods", "blocked_paths", "blocked_when", "encodings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionFacts:
    """What is known beside the request.

    Attributes:
        body_bytes: how much of its body has come in so far.
    """

    body_bytes: int = 0


def check_protection(policy: ProtectionPolicy) -> None:
    """Raise Invalid `policy_invalid` for what no gateway could carry out."""
    for name, low, high in LIMITS:
        value = getattr(policy, name)
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    for name in LISTS:
        count = len(getattr(policy, name))
        if count > MOST_ITEMS:
            raise _invalid(f"{name} has {count} items: keep it within {MOST_ITEMS}")
    for words in _faults(policy):
        raise _invalid(words)


def _faults(policy: ProtectionPolicy) -> Iterator[str]:
    for source in policy.blocked_sources:
        try:
            ipaddress.ip_network(source)
        except ValueError:
            yield f"blocked_sources has {source!r}: give a network, as 10.0.0.0/8"
    for path in policy.blocked_paths:
        wrong = fault(path.value) if path.type is PathMatchType.REGULAR_EXPRESSION else None
        if wrong is not None:
            yield f"blocked_paths has {path.value[:80]!r}: correct the expression, {wrong.words}"
    for call in policy.blocked_when:
        yield from (f"blocked_when: {words}" for words in faults(call, PROVIDED))


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"protection: {words}")


Judge = Callable[[Asked, ProtectionFacts], Decision]
_Test = Callable[[Request], Decision | None]


def decide(policy: ProtectionPolicy, asked: Asked, facts: ProtectionFacts) -> Decision:
    """What a policy says of one request; for many, `judge_of` once."""
    return judge_of(policy)(asked, facts)


def judge_of(policy: ProtectionPolicy, registry: Registry = PROVIDED) -> Judge:
    """A policy made ready to be asked.

    Args:
        registry: the match functions of `blocked_when`, all without `faults`.
    """
    tests = tuple(_tests(policy, registry))

    def judge(asked: Asked, facts: ProtectionFacts) -> Decision:
        for test in tests:
            if (refused := test(asked.request)) is not None:
                return refused
        return _body(policy, asked.request, facts)

    return judge


def _tests(policy: ProtectionPolicy, registry: Registry) -> Iterator[_Test]:
    """The tests that a policy needs, those that cost least first."""
    methods = frozenset(policy.blocked_methods)
    if methods:
        yield lambda request: _refused("method_blocked", 405) if request.method in methods else None
    yield lambda request: _size(policy, request)
    allowed = frozenset(policy.encodings) | {IDENTITY}
    yield lambda request: _encoding(allowed, request)
    if policy.blocked_sources:
        blocked = of_sources(policy.blocked_sources)
        yield lambda request: _refused("source_blocked", 403) if blocked(request) else None
    for pattern in policy.blocked_paths:
        yield _path_test(pattern)
    for call in policy.blocked_when:
        yield _function_test(call, registry)


def _path_test(pattern: PathMatch) -> _Test:
    matches = _matcher(pattern)
    refused = _refused("path_blocked", 403, pattern=pattern.value)
    return lambda request: refused if matches(request.path) else None


def _matcher(pattern: PathMatch) -> Callable[[str], bool]:
    value = pattern.value
    match pattern.type:
        case PathMatchType.EXACT:
            return lambda path: path == value
        case PathMatchType.PATH_PREFIX:
            below = value if value.endswith("/") else f"{value}/"
            return lambda path: path == value or path.startswith(below)
        case PathMatchType.PATH_TEMPLATE:
            return compiled(of_template(value)).matches
        case _:
            return compiled(value).matches


def _function_test(call: FunctionCall, registry: Registry) -> _Test:
    holds = predicate(call, registry)
    refused = _refused("rule_matched", 403, function=call.name)
    return lambda request: refused if holds(request) else None


def _size(policy: ProtectionPolicy, request: Request) -> Decision | None:
    """Limits of what comes before the body; 414 and 431 as RFC 9110 and RFC 6585 name them."""
    url = len(request.path) + (len(request.query) + 1 if request.query else 0)
    if url > policy.most_url_bytes:
        return _refused("url_too_long", 414, bytes=url, limit=policy.most_url_bytes)
    count = len(request.headers)
    if count > policy.most_headers:
        return _refused("too_many_headers", 431, headers=count, limit=policy.most_headers)
    size = sum(len(name) + len(value) for name, value in request.headers.items())
    if size > policy.most_header_bytes:
        return _refused("headers_too_large", 431, bytes=size, limit=policy.most_header_bytes)
    return None


def _encoding(allowed: frozenset[str], request: Request) -> Decision | None:
    given = request.headers.get("content-encoding", "")
    for coding in given.lower().split(",") if given else ():
        if coding.strip() not in allowed:
            return _refused("encoding_not_allowed", 415, encoding=coding.strip()[:40])
    return None


def _body(policy: ProtectionPolicy, request: Request, facts: ProtectionFacts) -> Decision:
    """The length that is announced, and what has come so far: the first may be a lie."""
    announced = request.headers.get("content-length", "")
    if announced and not (announced.isascii() and announced.isdigit()):
        return _refused("length_unreadable", 400)
    if announced and "transfer-encoding" in request.headers:
        # Two readers may take another one each, and see two requests where one was judged.
        return _refused("length_twice", 400)
    # Longer than any number that a limit can be: not worth converting.
    length = int(announced) if 0 < len(announced) <= 20 else len(announced) and MOST_BODY_BYTES + 1
    size = max(length, facts.body_bytes)
    if size > policy.most_body_bytes:
        return _refused("body_too_large", 413, bytes=size, limit=policy.most_body_bytes)
    return ADMITTED


def _refused(reason: str, status: int, **details: object) -> Decision:
    return Decision(verdict=Verdict.REFUSE, reason=reason, status=status, details=details)
