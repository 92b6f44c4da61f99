"""A request as rules see it: in normal form, and read the way all data planes read it.

Built where requests come in (`Request.of`), by tests and by `routes:match`. Header names are in
lower case, several lines of one header are one text with commas. Of several cookies or query
arguments of one name the first counts; their values are compared as they came, not decoded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controlplane.domain.routing.matching.normalization import (
    Refusal,
    lower,
    normalized,
    normalized_host,
)

# The cookie that keeps a user where he is; its value is the id of his first request.
STICKY_COOKIE = "signalbox_sid"
REQUEST_ID = "x-request-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a route can ask about.

    Attributes:
        path: in normal form, without the query.
        host: in normal form.
        query: what stands behind the first `?`, as it came.
        headers: name in lower case -> value.
        source: address of the caller; "" is unknown.
    """

    path: str
    method: str = "GET"
    host: str = ""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @classmethod
    def of(
        cls,
        target: str,
        method: str = "GET",
        host: str = "",
        headers: Iterable[tuple[str, str]] = (),
        source: str = "",
    ) -> "Request | Refusal":
        """A request as it came over the wire, or why it is answered before any route."""
        path = normalized(target)
        if isinstance(path, Refusal):
            return path
        return cls(
            path=path,
            method=method,
            host=normalized_host(host),
            query=target.partition("?")[2],
            headers=_joined(headers),
            source=source,
        )

    @property
    def cookies(self) -> Mapping[str, str]:
        """Name -> value of the first cookie of that name."""
        pairs = (
            part.strip(" \t").partition("=") for part in self.headers.get("cookie", "").split(";")
        )
        return _first((name, value) for name, sign, value in pairs if sign)

    @property
    def query_params(self) -> Mapping[str, str]:
        """Name -> value of the first query argument of that name; `?x` is `x` with ""."""
        pairs = (part.partition("=") for part in self.query.split("&") if part)
        return _first((name, value) for name, _, value in pairs)


def _joined(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        name = lower(name)
        separator = "; " if name == "cookie" else ","
        joined[name] = f"{joined[name]}{separator}{value}" if name in joined else value
    return joined


def _first(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found
