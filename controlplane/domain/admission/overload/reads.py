"""Which declared read a request is, and what is asked of the upstream for everybody who sends it.

Two requests share an answer only if everything that may be sent to the upstream is the same; what
is not declared (other arguments, cookies, ranges) is never part of a shared fetch, so that nobody
can choose what others get.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.domain.admission.overload.policy import METHODS, Read
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.precedence import pattern
from controlplane.domain.routing.route import PathMatch, PathMatchType

# What a client may send and still get what everybody gets, if the upstream names in `Vary` what its
# answer depends on. Of all others nobody knows what an upstream makes of them.
PLAIN_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "connection",
        "content-length",
        "dnt",
        "host",
        "keep-alive",
        "pragma",
        "priority",
        "referer",
        "traceparent",
        "tracestate",
        "upgrade-insecure-requests",
        "user-agent",
        "x-request-id",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One cached thing.

    Attributes:
        key: what it is kept under.
        request: what is sent to the upstream for everybody.
        plain: the client's own request asks for nothing else, so its answer is everybody's.
    """

    key: str
    request: Request
    plain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """All declared reads of a policy, made ready to be asked."""

    trees: Mapping[str, Tree[Read]]

    @classmethod
    def of(cls, reads: Iterable[Read]) -> "Reads":
        """The declared ones; `check_overload` has passed."""
        templates = [
            (read, pattern(PathMatch(type=PathMatchType.PATH_TEMPLATE, value=read.path)))
            for read in reads
        ]
        trees = {
            method: Tree.of(
                {
                    place: read
                    for read, place in templates
                    if read.method == method and place is not None
                }
            )
            for method in METHODS
        }
        return cls(trees=trees)

    def wanted(self, request: Request) -> Wanted | None:
        """What a request reads; None is nothing that was declared."""
        tree = self.trees.get(request.method)
        read = tree.find(request.path) if tree is not None else None
        if read is None or _has_body(request):
            return None
        query = _declared(request.query, read.query)
        shared = Request(path=request.path, method=request.method, host=request.host, query=query)
        plain = query == request.query and _plain(request.headers)
        key = f"{request.method} {request.host} {request.path}?{query}"
        return Wanted(key=key, request=shared, plain=plain)


def _has_body(request: Request) -> bool:
    length = request.headers.get("content-length", "")
    return "transfer-encoding" in request.headers or length.strip("0 ") != ""


def _plain(headers: Mapping[str, str]) -> bool:
    return all(name in PLAIN_HEADERS or name.startswith("sec-") for name in headers)


def _declared(query: str, names: tuple[str, ...]) -> str:
    """The declared arguments in the declared order; of one name all, in the order of the query.

    Which of several an upstream takes is its own affair: all belong to the key.
    """
    if not names or not query:
        return ""
    given: dict[str, list[str]] = {}
    for part in query.split("&"):
        given.setdefault(part.partition("=")[0], []).append(part)
    return "&".join(part for name in names for part in given.get(name, ()))
