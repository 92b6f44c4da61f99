"""The command line against the real application on a real port, its stores in memory."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest
import structlog
import uvicorn

from controlplane.cli import app
from controlplane.domain.access import AccessRole
from tests.api.house import House


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class Server:
    """A control plane in a thread of its own; `do` runs a coroutine over there."""

    def __init__(self) -> None:
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._started.result(timeout=20)

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=20)

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(timeout=20)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._started.set_exception(error)
            raise

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.house = House()
        # The command line reads the real clock when it says until when a token shall last.
        self.house.clock.time_s = time.time()
        await self.house.open()
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                self.house.app,
                port=0,
                ws="none",
                log_config=None,
                timeout_graceful_shutdown=1,
            )
        )
        serving = asyncio.create_task(self._uvicorn.serve())
        while not self._uvicorn.started:
            await asyncio.sleep(0.01)
        port = self._uvicorn.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._started.set_result(None)
        await serving


@pytest.fixture
def server() -> Iterator[Server]:
    # The log of a server in the same process would stand between a command's own lines.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    running = Server()
    yield running
    running.stop()
    structlog.reset_defaults()


Run = Callable[..., Done]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `signalbox ARGUMENTS`, without a token and without a server."""
    for name in ("SIGNALBOX_TOKEN", "SIGNALBOX_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGNALBOX_URL", "http://127.0.0.1:9")

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["signalbox", *arguments])
        code = 0
        try:
            app.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        shown = capfd.readouterr()
        return Done(code=code, out=shown.out, err=shown.err)

    return run


@pytest.fixture
def run(server: Server, offline: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `signalbox ARGUMENTS` as an admin of the server."""
    monkeypatch.setenv("SIGNALBOX_URL", server.url)
    monkeypatch.setenv("SIGNALBOX_TOKEN", server.house.secrets[AccessRole.ADMIN])
    return offline
