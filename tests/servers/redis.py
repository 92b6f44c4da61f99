"""A real Redis for tests and benchmarks, on a free port, with nothing on disk."""

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.free_ports import free_port
from tests.servers.proxies import program

START_S = 10.0


class RedisServer:
    """A process that can be ended, hung and started again on its port."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen(
            [program("redis-server"), *options, "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
        )
        end_s = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, "redis-server has ended"
            assert time.monotonic() < end_s, "redis-server does not answer"
            time.sleep(0.01)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hang(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as one:
                one.sendall(b"PING\r\n")
                return one.recv(16).startswith(b"+PONG")
        except OSError:
            return False


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """One that runs."""
    server = RedisServer(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.kill()
