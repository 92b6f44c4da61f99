"""A small site with a limit on its service, and requests that try it, for planes of files."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, NamedTuple

from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.routing.route import PathMatch, Rewrite, Route
from controlplane.domain.snapshot import ServiceLimit, Snapshot, assemble
from tests.servers.proxies import Client
from tests.sites.proxied import fleet, service, snapshot

# What a request for /hold takes.
HOLD_S = 0.7
ROUTES = (
    Route(id="all", service="web"),
    Route(id="own", service="web", path=PathMatch(value="/own"), rewrite=Rewrite(path="/own")),
    Route(id="free", service="free", path=PathMatch(value="/free")),
)

EACH_RPS = 10.0
# Of each address.
EACH = Policy(
    name="each",
    attachment=Attachment(services=("web",)),
    rate_limit=RateLimitPolicy(rate_rps=EACH_RPS, burst=3.0, key=("source",)),
)


def limited(
    ports: tuple[int, int],
    limit: ServiceLimit | None,
    revision: int = 1,
    policies: tuple[Policy, ...] = (),
) -> Snapshot:
    """The services `web`, with the limit, and `free`.

    Args:
        ports: of the gateway and of the one endpoint of both services.
    """
    listener, port = ports
    services = tuple(service(name, range(port, port + 1), range(0)) for name in ("free", "web"))
    declared = replace(fleet(listener), services=services, routes=ROUTES, whitelists=())
    declared = replace(declared, policies=policies)
    made = snapshot(declared, revision)
    found = tuple(
        replace(one, limit=limit) if one.service == "web" else one
        for one in made.content.endpoints.services
    )
    content = replace(made.content, endpoints=replace(made.content.endpoints, services=found))
    return replace(assemble(content), revision=revision)


class _Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: ClassVar[list[int]]

    def do_GET(self) -> None:
        if self.path.startswith("/hold"):
            # How many are at work is counted by adding to a list, which needs no lock.
            self.held.append(1)
            time.sleep(HOLD_S)
            self.held.append(-1)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def slow_service(port: int) -> Iterator[list[int]]:
    """The endpoint, until the block ends: a 1 for each request to /hold that began, and a -1."""
    held: list[int] = []
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Held", (_Slow,), {"held": held}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def passed(port: int, seconds: int, *paths: str) -> list[int]:
    """What passed in each of some seconds: where a busy machine stands still it is too little."""
    return [sent(port, 1.0, *paths)[200] for _ in range(seconds)]


def sent(port: int, seconds: float, *paths: str) -> Counter[int]:
    """Answers by status of some 200 requests per second over one connection, path after path."""
    client, found = Client(port), Counter[int]()
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        for path in paths:
            found[client.ask(path).status] += 1
            time.sleep(0.004)
    client.close()
    return found


class Burst(NamedTuple):
    """What came of requests without a pause.

    Attributes:
        passed: answers of 200; refused: the others' statuses; seconds: that it took.
    """

    passed: int
    refused: set[int]
    seconds: float


def burst(port: int, count: int, path: str = "/", source: str = "127.0.0.1") -> Burst:
    """Send requests one after the other over one connection."""
    client, began_s = Client(port, source), time.monotonic()
    found = Counter(client.ask(path).status for _ in range(count))
    client.close()
    return Burst(found.pop(200, 0), set(found), time.monotonic() - began_s)


def at_once(port: int, count: int, *paths: str) -> Counter[int]:
    """Answers by status of requests that come at once, each over a connection of its own."""

    def ask(number: int) -> int:
        client = Client(port)
        try:
            return client.ask(paths[number % len(paths)]).status
        finally:
            client.close()

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(ask, range(count)))
