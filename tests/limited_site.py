"""A small site with a limit on its service, and requests that try it, for planes of files."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from controlplane.domain.routing.route import PathMatch, Rewrite, Route
from controlplane.domain.snapshot import ServiceLimit, Snapshot, assemble
from tests.live_proxies import Client
from tests.proxied_site import fleet, service, snapshot

# What a request for /hold takes.
HOLD_S = 0.5
ROUTES = (
    Route(id="all", service="web"),
    Route(id="own", service="web", path=PathMatch(value="/own"), rewrite=Rewrite(path="/own")),
    Route(id="free", service="free", path=PathMatch(value="/free")),
)


def limited(
    ports: tuple[int, int], limit: ServiceLimit | None, east: float = 0.5, revision: int = 1
) -> Snapshot:
    """The services `web`, with the limit, and `free`.

    Args:
        ports: of the gateway and of the one endpoint of both services.
    """
    listener, port = ports
    services = tuple(service(name, range(port, port + 1), range(0)) for name in ("free", "web"))
    declared = replace(fleet(listener), services=services, routes=ROUTES, whitelists=())
    made = snapshot(declared, revision, east)
    found = tuple(
        replace(one, limit=limit) if one.service == "web" else one
        for one in made.content.endpoints.services
    )
    content = replace(made.content, endpoints=replace(made.content.endpoints, services=found))
    return replace(assemble(content), revision=revision)


class _Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/hold"):
            time.sleep(HOLD_S)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def slow_service(port: int) -> Iterator[None]:
    """The endpoint, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Slow)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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


def burst(port: int, count: int, path: str = "/") -> Counter[int]:
    """Answers by status of requests that come one after the other without a pause."""
    client = Client(port)
    found = Counter(client.ask(path).status for _ in range(count))
    client.close()
    return found


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
