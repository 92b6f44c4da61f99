"""A real browser and a real `signalbox serve` for the tests of the console.

Debian's Chromium, driven by Playwright; pip and .ci/browser bring them, so nothing here skips.
Every test ends with the page's own complaints: an error or a breach of the content policy fails.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.free_ports import free_ports
from models import storage
from models.reports import keeping
from tests.model_artifacts import artifact, upload
from tests.model_reports import report

TOKEN = re.compile(r"sbx_[A-Za-z0-9_-]{43}")
START_S = 30
WAIT_MS = 15_000
WIDE = (1280, 800)
PHONE = (390, 844)
VIDEO = (("east", 9103), ("south", 9303), ("west", 9203))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What the browser itself says of a server that is away, and of a refused token.
EXPECTED = re.compile(r"ERR_|status of 401")


def fleet(east: float) -> dict[str, object]:
    """Two services of two centres, of which the first has the share `east`; one of three."""

    def cluster(name: str, capacity_rps: int, port: int, **more: object) -> dict[str, object]:
        endpoints = [{"address": "127.0.0.1", "port": port}]
        return {"datacenter": name, "capacity_rps": capacity_rps, "endpoints": endpoints, **more}

    def machines(name: str, port: int) -> dict[str, object]:
        return cluster(name, 600, port, servers=8, idle_cpu=0.05, full_cpu=0.95)

    return {
        "datacenters": [
            {"name": "east", "role": "primary", "region": "r1"},
            {"name": "west", "role": "same-city", "region": "r1"},
            {"name": "south", "role": "same-city", "region": "r2"},
        ],
        "services": [
            {
                "name": "tickets",
                "strategy": "greybox",
                "static_shares": {"east": 0.5, "west": 0.5},
                "clusters": [cluster("east", 800, 9101), cluster("west", 500, 9201)],
            },
            {
                "name": "search",
                "strategy": "static",
                "static_shares": {"east": east, "west": round(1 - east, 3)},
                "clusters": [cluster("east", 800, 9102), cluster("west", 500, 9202)],
            },
            {
                "name": "video",
                "strategy": "greybox",
                "clusters": [
                    machines("east", 9103),
                    machines("south", 9303),
                    machines("west", 9203),
                ],
            },
        ],
    }


@dataclass(slots=True, kw_only=True)
class Serve:
    """A `signalbox serve` with a folder and ports of its own, which can stop and come back."""

    folder: Path
    http: int
    ads: int
    token: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"

    def start(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SIGNALBOX_")}
        environment = kept | {
            "SIGNALBOX_DATA_DIR": str(self.folder / "data"),
            "SIGNALBOX_HTTP_PORT": str(self.http),
            "SIGNALBOX_ADS_PORT": str(self.ads),
            "SIGNALBOX_TIME_SCALE": "0.02",
        }
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "controlplane", "serve"],
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, self.log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=15)
            finally:
                self._process.kill()
                self._process.wait()
            self._process = None

    def api(self, method: str, path: str, **content: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(
            method,
            f"{self.url}{path}",
            headers=headers,
            timeout=START_S,
            **content,  # type: ignore[arg-type]
        )
        assert answer.is_success, answer.text
        return answer

    def declare(self, east: float) -> None:
        self.api("PUT", "/v1/fleet?reason=browser", json=fleet(east))

    def learn(self) -> None:
        """Give the service a model and samples, so that decisions have a curve."""
        digest = self.api("POST", "/v1/models", content=upload()).json()["digest"]
        wanted = {"service": "tickets", "reason": "browser"}
        self.api("POST", f"/v1/models/{digest}:promote", json=wanted)

    def register_versions(self) -> list[str]:
        """Two versions with reports, of which none decides."""
        bodies = []
        for seed in (11, 12):
            model = artifact(seed=seed)
            bodies.append(keeping.enclose(report(model, seed), storage.to_bytes(model)))
        return [self.api("POST", "/v1/models", content=body).json()["digest"] for body in bodies]

    def send_samples(self) -> None:
        centers = {"tickets": ("east", "west"), "video": ("east", "south", "west")}
        samples = [sample(name, center) for name, own in centers.items() for center in own]
        self.api("POST", "/v1/samples", json={"samples": samples})

    @contextmanager
    def sending_samples(self) -> Iterator[None]:
        """Send some every quarter of a second, as two live data centres do."""
        ended = threading.Event()

        def sending() -> None:
            while not ended.wait(0.25):
                self.send_samples()

        sender = threading.Thread(target=sending)
        sender.start()
        try:
            yield
        finally:
            ended.set()
            sender.join()

    def has_curve(self) -> bool:
        self.send_samples()
        newest = self.api("GET", "/v1/decisions?service=tickets&limit=1").json()["items"]
        return bool(newest and self.api("GET", f"/v1/decisions/{newest[0]['id']}").json()["curve"])

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz").is_success
        except httpx.TransportError:
            return False


def sample(service: str, center: str) -> dict[str, object]:
    return {
        "service": service,
        "datacenter": center,
        # Readings that never move are suspicious.
        "request_rate_rps": 300.0 + time.monotonic() % 1,
        "response_time_ms": 40.0,
        "ingress_bandwidth_bps": 2.4e6,
        "cpu_avg": 0.6,
        "cpu_max": 0.65,
        "memory": 0.4,
        "disk": 0.3,
    }


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    http, ads = free_ports(2)
    serve = Serve(folder=tmp_path_factory.mktemp("serve"), http=http, ads=ads)
    try:
        serve.start()
        found = TOKEN.search(serve.log.read_text(encoding="utf-8"))
        assert found is not None
        serve.token = found.group()
        yield serve
    finally:
        serve.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None, "no chromium: install the package chromium (.ci/browser does)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@dataclass(slots=True, kw_only=True)
class Console:
    """The page as its reader uses it."""

    page: Page
    serve: Serve
    complaints: list[str] = field(default_factory=list)

    def enter(self, token: str) -> None:
        self.page.get_by_label("Token").fill(token)
        self.page.keyboard.press("Enter")

    def open(self) -> None:
        self.page.goto(f"{self.serve.url}/")
        self.enter(self.serve.token)
        expect(self.page.locator("#connection")).to_have_text("live")

    def until_it_fits(self) -> None:
        """Until nothing is wider than the window: charts take their width once they are drawn.

        Asked from here again and again: what asks inside the page is a string that it must not run.
        """
        widths = "[document.documentElement.scrollWidth, window.innerWidth]"
        deadline = time.monotonic() + WAIT_MS / 1000
        while len(set(found := self.page.evaluate(widths))) > 1:
            assert time.monotonic() < deadline, f"page and window are {found} pixels wide"
            self.page.wait_for_timeout(50)

    def share(self, service: str, center: str) -> str:
        """The selector of a share in the table of weights."""
        return f"#weights tr:has-text('{service}'):has-text('{center}') .share strong"


@pytest.fixture
def console(browser: Browser, serve: Serve, request: pytest.FixtureRequest) -> Iterator[Console]:
    width, height = getattr(request, "param", WIDE)
    expect.set_options(timeout=WAIT_MS)
    context = browser.new_context(viewport={"width": width, "height": height}, locale="en-US")
    console = Console(page=context.new_page(), serve=serve)
    complaints = console.complaints
    console.page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    console.page.on("pageerror", lambda error: complaints.append(str(error)))
    yield console
    context.close()
    assert [text for text in complaints if not EXPECTED.search(text)] == []


def wait_for(holds: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not holds():
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.2)
