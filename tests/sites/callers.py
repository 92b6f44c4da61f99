"""A site whose routes want to know their callers, and what each data plane must answer.

`cases` are requests with the status that every plane must give, whatever it is made of; `echo` is a
service that answers with the headers that it was sent, and knows the issuer's keys.
"""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from controlplane.domain.routing.callers.policies import (
    ApiKey,
    CallerPolicy,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
    Quota,
    RequestSignature,
)
from controlplane.domain.routing.route import Part, PathMatch, Route
from tests.credentials import AUDIENCE, ISSUER, digest, issuer, stranger

KEY = "8b1e0f3a-partner"
POLICIES = (
    CallerPolicy(name="key", api_key=ApiKey()),
    CallerPolicy(name="in-query", api_key=ApiKey(part=Part.QUERY_PARAM, name="key")),
    CallerPolicy(name="in-cookie", api_key=ApiKey(part=Part.COOKIE, name="key")),
    CallerPolicy(
        name="staff",
        jwt=Jwt(issuer=ISSUER, audiences=(AUDIENCE,), jwks=issuer().jwks, claims=(("role", "op"),)),
    ),
    CallerPolicy(
        name="users",
        jwt=Jwt(issuer=ISSUER, audiences=(AUDIENCE,), jwks=issuer().jwks, cookie="session"),
        otherwise="somebody",
    ),
    CallerPolicy(name="signed", signature=RequestSignature()),
    CallerPolicy(
        name="fetched",
        jwt=Jwt(issuer=ISSUER, jwks_service="echo", jwks_path="/keys", jwks_period_s=1),
    ),
    # A broken one takes nothing else with it.
    CallerPolicy(name="broken", jwt=Jwt(issuer=ISSUER, jwks_service="web")),
)


def credential(policy: str, kind: CredentialType, value: str) -> Credential:
    return Credential(policy=policy, type=kind, value=value)


def key_of(policy: str, key: str) -> Credential:
    return credential(policy, CredentialType.KEY_SHA256, digest(key))


PAY = (("team", "pay"),)
CONSUMERS = (
    Consumer(
        name="partner",
        credentials=(
            key_of("key", KEY),
            key_of("in-query", KEY),
            key_of("in-cookie", KEY),
        ),
        grants=(Grant(),),
    ),
    Consumer(
        name="operator",
        credentials=(credential("staff", CredentialType.CLAIM, "user-1"),),
        grants=(Grant(labels=PAY), Grant(routes=("both",))),
    ),
    Consumer(
        name="desk",
        credentials=(credential("fetched", CredentialType.CLAIM, "desk-7"),),
        grants=(Grant(routes=("fetched",)),),
    ),
    Consumer(name="somebody", grants=(Grant(routes=("page",)),)),
    Consumer(name="idle", credentials=(key_of("key", "idle"),)),
    Consumer(
        name="elsewhere", credentials=(key_of("key", "elsewhere"),), grants=(Grant(zones=("x",)),)
    ),
    Consumer(
        name="thrifty",
        credentials=(key_of("key", "thrifty"),),
        grants=(Grant(),),
        quota=Quota(requests=3, period_s=3_600),
    ),
)


def guarded(name: str, *policies: str, labels: tuple[tuple[str, str], ...] = ()) -> Route:
    return replace(_open(name), authentication=policies, labels=labels)


def _open(name: str) -> Route:
    return Route(id=name, service="web", path=PathMatch(value=f"/{name}"))


ROUTES = (
    _open("open"),
    guarded("key", "key"),
    replace(guarded("whoami", "key"), service="echo"),
    guarded("query", "in-query"),
    guarded("cookie", "in-cookie"),
    guarded("both", "key", "staff"),
    guarded("pay", "staff", labels=PAY),
    guarded("page", "users"),
    guarded("signed", "signed"),
    guarded("half", "key", "signed"),
    guarded("fetched", "fetched"),
    guarded("broken", "broken"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request, and the statuses of which it must get one."""

    target: str
    headers: tuple[tuple[str, str], ...] = ()
    status: tuple[int, ...]


def _case(target: str, status: int | tuple[int, ...], **headers: str) -> Case:
    told = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    allowed = (status,) if isinstance(status, int) else status
    return Case(target=target, headers=told, status=allowed)


def _bearer(status: int, token: str, target: str = "/pay") -> Case:
    return _case(target, status, authorization=f"Bearer {token}")


def cases() -> list[Case]:
    """Made when they are asked for: tokens end."""
    return [*_with_keys(), *_with_tokens(issuer().token(role="op")), *_with_grants()]


def _with_keys() -> list[Case]:
    return [
        _case("/open", 200),
        _case("/open", 200, x_api_key="wrong"),
        _case("/key", 401),
        _case("/key", 401, x_api_key="wrong"),
        _case("/key", 401, x_api_key=digest(KEY)),
        _case("/key", 200, x_api_key=KEY),
        Case(target="/key", headers=(("x-api-key", KEY), ("x-api-key", "a")), status=(401,)),
        Case(target="/key", headers=(("x-api-key", "a"), ("x-api-key", KEY)), status=(401,)),
        _case(f"/query?a=b&key={KEY}", 200),
        _case("/query?key=wrong", 401),
        _case("/query", 401, x_api_key=KEY),
        _case("/cookie", 200, cookie=f"a=b; key={KEY}"),
        _case("/cookie", 401, cookie="key=wrong"),
        _case("/cookie", 401, cookie=f"otherkey={KEY}"),
    ]


def _with_tokens(good: str) -> list[Case]:
    sign = issuer().token
    head, body, _ = good.split(".")
    none = "eyJhbGciOiJub25lIn0"
    return [
        _bearer(200, good),
        _bearer(200, sign(role=["a", "op"], aud=["other", AUDIENCE])),
        _bearer(401, sign(role="op", exp=1_000_000_000)),
        _bearer(401, sign(role="op", exp=None)),
        _bearer(401, sign(role="op", nbf=4_000_000_000)),
        _bearer(401, sign(role="op", aud="other")),
        _bearer(401, sign(role="op", aud=None)),
        _bearer(401, sign(role="op", iss="other")),
        _bearer(401, sign(role="op", iss=None)),
        _bearer(401, sign()),
        _bearer(401, sign("user-2", role="op")),
        _bearer(401, stranger().token(role="op")),
        _bearer(401, f"{none}.{body}."),
        _bearer(401, f"{head}.{body}."),
        _bearer(401, f"{head}.{body}.AAAA"),
        _bearer(401, "x"),
        _case("/pay", 401),
    ]


def _with_grants() -> list[Case]:
    sign = issuer().token
    good = sign(role="op")
    return [
        _bearer(200, good, "/both"),
        _case("/both", 200, x_api_key=KEY),
        _case("/both", 200, x_api_key="wrong", authorization=f"Bearer {good}"),
        _case("/both", 401, x_api_key="wrong"),
        _case("/page", 200, cookie=f"session={sign('user-77')}"),
        _case("/page", 401, authorization=f"Bearer {good}"),
        _case("/key", 403, x_api_key="idle"),
        _case("/key", 403, x_api_key="elsewhere"),
        _case("/key", 401, x_consumer="partner", x_consumer_policy="key"),
        _case("/signed", 403),
        _case("/signed", 403, x_api_key=KEY),
        _case("/half", 401),
        _case("/half", 200, x_api_key=KEY),
        _case("/broken", (401, 403)),
        _case("/broken", (401, 403), authorization=f"Bearer {good}"),
    ]


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        told = {name.lower(): self.headers.get_all(name) for name in self.headers}
        body = (issuer().jwks if self.path == "/keys" else json.dumps(told)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests for the tests."""


class _EchoServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """Health checks go away without reading the answer."""


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """The port of a service that answers with the headers that it was sent."""
    server = _EchoServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
