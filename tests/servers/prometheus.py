"""A real Prometheus with targets that a test moves, for the live tests of pulling.

Everything listens on loopback and ends with the test. Debian's package is installed by
`.ci/servers`.
"""

import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import yaml

from benchmarks.free_ports import free_ports

START_S = 30.0
SCRAPE_S = 1

Answer = tuple[int, bytes]


@contextmanager
def answering(answer: Callable[[str], Answer | None]) -> Iterator[int]:
    """An HTTP server in a thread: path -> status and body, None hangs up; its port."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Who asked has hung up: a deadline that a test waits for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = answer(self.path)
            if told is None:
                self.close_connection = True
                return
            status, body = told
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(slots=True)
class Target:
    """One data center's machines: counters that grow with the clock, as the test sets them.

    Attributes:
        rps: requests per second; 0 lets the counters stand.
        broken: answer every scrape with an error.
        absurd: tell not-a-number where seconds and ratios should be.
    """

    rps: float = 40.0
    response_ms: float = 50.0
    cpu: float = 0.5
    broken: bool = False
    absurd: bool = False
    port: int = 0
    _requests: float = 100.0
    _busy_s: float = 5.0
    _at_s: float = field(default_factory=time.monotonic)

    def answer(self, path: str) -> Answer:
        """The exposition now."""
        now_s = time.monotonic()
        requests = self.rps * (now_s - self._at_s)
        self._at_s = now_s
        self._requests += requests
        self._busy_s += requests * self.response_ms / 1000
        if self.broken:
            return 500, b""
        busy_s, cpu = ("NaN", "NaN") if self.absurd else (self._busy_s, self.cpu)
        lines = (
            f"http_requests_total {self._requests}",
            f"http_request_duration_seconds_count {self._requests}",
            f"http_request_duration_seconds_sum {busy_s}",
            f"cpu_busy_ratio {cpu}",
        )
        return 200, ("\n".join(lines) + "\n").encode()


@dataclass(slots=True)
class Front:
    """What stands before the Prometheus: passes on, or answers every question with `error`."""

    upstream: str
    error: int = 0
    url: str = ""

    def answer(self, path: str) -> Answer | None:
        """The upstream's answer, or ours; hangs up when there is no upstream."""
        if self.error:
            return self.error, b"<html>not from here</html>"
        try:
            with urllib.request.urlopen(self.upstream + path, timeout=30) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return None


@dataclass(slots=True)
class Server:
    """One Prometheus process over a folder; it may be killed, started again, and paused."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        binary = shutil.which("prometheus")
        assert binary is not None, "no prometheus on PATH: run .ci/servers"
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    binary,
                    f"--config.file={self.folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self.folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )
        until(self.ready, START_S)

    def ready(self) -> bool:
        """Whether it answers questions."""
        try:
            return httpx.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def send(self, number: signal.Signals) -> None:
        """SIGSTOP lets it take connections and say nothing; SIGCONT lets it go on."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass(slots=True)
class Site:
    """A Prometheus that scrapes two data centers, and what stands before it."""

    server: Server
    front: Front
    east: Target
    west: Target


@contextmanager
def site(folder: Path, config: str) -> Iterator[Site]:
    """Run `config` (YAML) with its targets and its interval put in place."""
    east, west = Target(), Target(response_ms=30.0, cpu=0.6)
    (port,) = free_ports(1)
    server = Server(folder=folder, port=port)
    front = Front(upstream=server.url)
    with (
        answering(east.answer) as east.port,
        answering(west.answer) as west.port,
        answering(front.answer) as front_port,
    ):
        front.url = f"http://127.0.0.1:{front_port}"
        (folder / "prometheus.yml").write_text(placed(config, east.port, west.port))
        try:
            server.start()
            yield Site(server=server, front=front, east=east, west=west)
        finally:
            server.kill()


def placed(config: str, *ports: int) -> str:
    """The configuration with short intervals, and with our ports as its targets in order."""
    content = yaml.safe_load(config)
    content["global"] = {"scrape_interval": f"{SCRAPE_S}s", "scrape_timeout": f"{SCRAPE_S}s"}
    groups = [group for job in content["scrape_configs"] for group in job["static_configs"]]
    for group, port in zip(groups, ports, strict=True):
        group["targets"] = [f"127.0.0.1:{port}"]
    return yaml.safe_dump(content)


def until(true: Callable[[], object], limit_s: float) -> float:
    """Wait for something; how many seconds it took."""
    begun_s = time.monotonic()
    while not true():
        waited_s = time.monotonic() - begun_s
        assert waited_s < limit_s, f"not within {limit_s:g} s"
        time.sleep(0.05)
    return time.monotonic() - begun_s
