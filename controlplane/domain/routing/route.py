"""A route: what a request must be like, and what happens with it then.

Names are those of the Kubernetes Gateway API where it has one. Of all routes of the most specific
host that matches, a request gets the first whose conditions hold, in this order: the path segment
by segment (literal before parameter, longer before shorter, whole path before prefix), then
regular expressions; at one path a route for its method before one for all methods, then more
conditions before fewer, the higher `priority`, and the first by id. The order is total and does
not depend on who was written first.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

# Weights of versions and limits of cohorts are in ten-thousandths.
WHOLE = 10_000


class PathMatchType(StrEnum):
    """How a path is compared.

    `PathPrefix` matches whole segments; `PathTemplate` the whole path, `{name}` standing for one
    segment that is not empty; `RegularExpression` the whole path without the query, in RE2's
    syntax.
    """

    EXACT = "Exact"
    PATH_PREFIX = "PathPrefix"
    PATH_TEMPLATE = "PathTemplate"
    REGULAR_EXPRESSION = "RegularExpression"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMatch:
    """A path rule. `value` begins with `/`; a prefix other than `/` does not end with `/`."""

    type: PathMatchType = PathMatchType.PATH_PREFIX
    value: str = "/"


class Part(StrEnum):
    """Where in a request a condition looks."""

    HEADER = "header"
    QUERY_PARAM = "query_param"
    COOKIE = "cookie"


class TextMatchType(StrEnum):
    """How a text is compared; `RegularExpression` must match all of it, in RE2's syntax."""

    EXACT = "Exact"
    PREFIX = "Prefix"
    REGULAR_EXPRESSION = "RegularExpression"
    PRESENT = "Present"
    ABSENT = "Absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that must hold of a request; a user agent is its header.

    Attributes:
        name: a header's in lower case; of the others as it is.
        value: "" beside `Present` and `Absent`.
    """

    part: Part = Part.HEADER
    name: str
    type: TextMatchType = TextMatchType.EXACT
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A match function of the registry, by name, with its arguments in order of name."""

    name: str
    arguments: tuple[tuple[str, str], ...] = ()


class CohortKey(StrEnum):
    """What a cohort is counted by: `user` keeps each user in or out, `request` draws each time."""

    USER = "user"
    REQUEST = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The part of users or requests whose number is in [low, high), of `WHOLE`.

    The number is the first four hexadecimal digits of the sticky cookie, or of the request's id,
    over 65,536: every data plane can compare them, and a larger cohort contains the smaller one.
    """

    by: CohortKey = CohortKey.USER
    low: int = 0
    high: int = WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionWeight:
    """Part of a service's requests that one of its versions gets, of `WHOLE`."""

    version: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowQueue:
    """How many requests of this route the service gets at once; more wait, then get 503."""

    concurrent: int = 10
    waiting: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """Answer with another address; "" keeps that part, `status` is 301, 302, 303, 307 or 308."""

    status: int = 302
    scheme: str = ""
    host: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedResponse:
    """Answer without a service; a denial is one of status 403."""

    status: int = 403
    body: str = ""
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What the service sees instead; `prefix` replaces the matched path prefix, `path` all of it.

    "" leaves it. At most one of `prefix` and `path`.
    """

    host: str = ""
    prefix: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderChanges:
    """Headers that are set (name, value) or removed."""

    set: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCheck:
    """A test request that is kept with a route, and what must become of it.

    Without an expectation it must get the route that it is kept with.

    Attributes:
        path: as a client sends it, a query may follow.
        source: address of the client; "" is none that any route names.
        gateway: group that gets the request; "" is one that has all routes.
        route, service: that it must get; "" is any.
        status: of an answer without a service; 404 is that no route matches.
    """

    path: str
    host: str = "localhost"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    source: str = ""
    gateway: str = ""
    route: str = ""
    service: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One rule; `*` is every host. Exactly one of `service`, `redirect` and `response` is set.

    Attributes:
        methods: () is every method.
        conditions, sources, functions, cohort: all must hold; of the addresses in `sources`
            (CIDR) one.
        gateways: groups that have this route; () is all.
        versions: of the service, weights sum to `WHOLE`; () is the service as a whole.
        authentication: names of caller policies of which one must accept the caller; () is none.
        transform: name of a body transformation; "" is none.
        timeout_ms, retries: instead of the service's.
        valid_from_s, valid_until_s: UTC epoch seconds between which the route exists.
        tls: reference of the certificate of its hosts; "" is none.
        checks: test requests that run before each publication; not in a snapshot.
    """

    # Most fields of most routes have their default; see `canonical`.
    SPARSE: ClassVar[bool] = True

    id: str
    service: str = ""
    path: PathMatch = PathMatch()
    hosts: tuple[str, ...] = ("*",)
    methods: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    sources: tuple[str, ...] = ()
    functions: tuple[FunctionCall, ...] = ()
    cohort: Cohort | None = None
    gateways: tuple[str, ...] = ()
    priority: int = 0
    versions: tuple[VersionWeight, ...] = ()
    queue: SlowQueue | None = None
    redirect: Redirect | None = None
    response: FixedResponse | None = None
    rewrite: Rewrite | None = None
    request_headers: HeaderChanges | None = None
    response_headers: HeaderChanges | None = None
    transform: str = ""
    authentication: tuple[str, ...] = ()
    timeout_ms: int | None = None
    retries: int | None = None
    valid_from_s: float | None = None
    valid_until_s: float | None = None
    tls: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    checks: tuple[RouteCheck, ...] = ()

    @property
    def condition_count(self) -> int:
        """How much a request must be like beside host, path and method."""
        others = (bool(self.sources), self.cohort is not None)
        return len(self.conditions) + len(self.functions) + sum(others)

    @property
    def rules(self) -> tuple[object, ...]:
        """What tells its requests from those of other routes, beside host and path."""
        return (
            self.methods,
            self.conditions,
            self.sources,
            self.functions,
            self.cohort,
            self.gateways,
            self.priority,
            self.valid_from_s,
            self.valid_until_s,
        )

    def valid(self, now_s: float) -> bool:
        """Whether the route exists at a time."""
        began = self.valid_from_s is None or self.valid_from_s <= now_s
        return began and (self.valid_until_s is None or now_s < self.valid_until_s)


class L4Protocol(StrEnum):
    """What an L4 route carries."""

    TCP = "TCP"
    UDP = "UDP"


@dataclass(frozen=True, slots=True, kw_only=True)
class L4Route:
    """Connections to a port, or of TLS names (`sni`, TCP only) on it, go to a service."""

    id: str
    service: str
    port: int
    protocol: L4Protocol = L4Protocol.TCP
    sni: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
