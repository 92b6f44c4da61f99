"""A call of a proxy, read as the request that it asks about. Pure.

Three dialects, told apart by the path that is called:

- `/envoy/...` (ext_authz with an HTTP service): the request's own method, path and headers.
- `/auth-request` (nginx): `X-Original-Method` and `X-Original-URI`; only a status comes back.
- `/forward-auth` (Traefik, Caddy): `X-Forwarded-Method`, `-Host` and `-Uri`.

Whoever may call the agent is a proxy and is believed; who its client is, is believed as far as the
trusted networks reach.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.admission.agent_door import ENVOY_PREFIX
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request
from gateway.proxy.forwarded import Networks, claims

NGINX_PATH = "/auth-request"
FORWARD_PATH = "/forward-auth"
METHOD, HOST, URI = "x-forwarded-method", "x-forwarded-host", "x-forwarded-uri"
NGINX_METHOD, NGINX_URI = "x-original-method", "x-original-uri"
# What the proxies add for us; the request that is asked about has none of them.
ADDED = frozenset({METHOD, URI, NGINX_METHOD, NGINX_URI, "content-length", "host"})


class Dialect(StrEnum):
    """How a proxy asks."""

    ENVOY = "envoy"
    AUTH_REQUEST = "auth_request"
    FORWARD_AUTH = "forward_auth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What came in.

    Attributes:
        target: path and query as they came.
        headers: as they came; names in any case.
        peer: address of the proxy.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    peer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked; `request` is a Refusal when it has no normal form."""

    dialect: Dialect
    request: Request | Refusal

    @property
    def takes_status_only(self) -> bool:
        """Whether the proxy takes nothing of an answer but its status."""
        return self.dialect is Dialect.AUTH_REQUEST


def question(call: Call, trusted: Networks) -> Question | None:
    """The request that a call is about; None when it is none of the three."""
    path = call.target.partition("?")[0]
    if path.startswith(f"{ENVOY_PREFIX}/"):
        return _asked(Dialect.ENVOY, call, trusted, (call.method, call.target[len(ENVOY_PREFIX) :]))
    if path == NGINX_PATH:
        return _named(Dialect.AUTH_REQUEST, call, trusted, (NGINX_METHOD, NGINX_URI))
    if path == FORWARD_PATH:
        return _named(Dialect.FORWARD_AUTH, call, trusted, (METHOD, URI))
    return None


def _named(
    dialect: Dialect, call: Call, trusted: Networks, names: tuple[str, str]
) -> Question | None:
    found = {name.lower(): value for name, value in call.headers}
    method, target = (found.get(name, "") for name in names)
    if not method or not target:
        return None
    return _asked(dialect, call, trusted, (method, target))


def _asked(dialect: Dialect, call: Call, trusted: Networks, line: tuple[str, str]) -> Question:
    lower = {name.lower(): value for name, value in call.headers}
    host = lower.get("host", "")
    if dialect is Dialect.FORWARD_AUTH:
        host = lower.get(HOST, host)
    believed = claims(lower, host, call.peer, trusted)
    headers = [(name, value) for name, value in call.headers if name.lower() not in ADDED]
    request = Request.of(
        line[1],
        method=line[0],
        host=host,
        headers=(*headers, ("host", host)),
        source=believed.source,
    )
    return Question(dialect=dialect, request=request)
