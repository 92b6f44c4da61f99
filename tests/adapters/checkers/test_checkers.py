"""Each kind of check against real ports and real programs."""

import asyncio
import contextlib
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from controlplane.adapters.checkers.command import CommandChecker
from controlplane.adapters.checkers.http import HttpChecker
from controlplane.adapters.checkers.tcp import TcpChecker
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import CheckKind, HealthCheck

CHECK = HealthCheck(path="/hc", timeout_ms=300)
PROMPT_S = 1.0


def endpoint(port: int) -> EndpointKey:
    return EndpointKey(
        service="shop", datacenter="east", cluster="", address="127.0.0.1", port=port
    )


@contextlib.asynccontextmanager
async def answering(answer: bytes, after_s: float = 0.0) -> AsyncIterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []
    serving: set[asyncio.Task[object] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                heard.append(await reader.readuntil(b"\r\n\r\n"))
                await asyncio.sleep(after_s)
                writer.write(answer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        for task in serving:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ""),
        (b"HTTP/1.0 200\r\n\r\n", ""),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "status 503"),
        (b"HTTP/1.1 301 Moved\r\n\r\n", "status 301"),
        (b"SSH-2.0-OpenSSH\r\n", "it does not speak HTTP"),
        (b"x" * 10_000, "it does not speak HTTP"),
        (b"", "it closed the connection"),
    ],
)
async def test_http_passes_with_200_only(answer: bytes, words: str) -> None:
    async with answering(answer) as (port, heard):
        assert await HttpChecker().check(endpoint(port), CHECK) == words
    assert heard[0].startswith(b"GET /hc HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_http_says_why_there_was_no_answer() -> None:
    assert await HttpChecker().check(endpoint(free_port()), CHECK) == "connection refused"
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n", after_s=5.0) as (port, _):
        started = time.monotonic()
        assert await HttpChecker().check(endpoint(port), CHECK) == "no answer within 300 ms"
        assert time.monotonic() - started < PROMPT_S


async def test_tcp_passes_when_a_port_takes_connections() -> None:
    check = HealthCheck(kind=CheckKind.TCP, timeout_ms=300)
    async with answering(b"") as (port, _):
        assert await TcpChecker().check(endpoint(port), check) == ""
    assert await TcpChecker().check(endpoint(free_port()), check) == "connection refused"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit(sys.argv[1:] != ['127.0.0.1', '80', '{x}'])", ""),
        ("print('no  database'); raise SystemExit(3)", "exit 3: no database"),
        ("raise SystemExit(4)", "exit 4"),
    ],
)
async def test_a_command_passes_with_exit_code_0(script: str, words: str) -> None:
    command = (sys.executable, "-c", script, "{address}", "{port}", "{x}")
    check = HealthCheck(kind=CheckKind.COMMAND, command="ping", timeout_ms=10_000)
    assert await CommandChecker({"ping": command}).check(endpoint(80), check) == words


async def test_a_command_that_talks_much_is_not_kept() -> None:
    command = ("sh", "-c", "echo no; head -c 50000000 /dev/zero; exit 3")
    check = HealthCheck(kind=CheckKind.COMMAND, command="ping", timeout_ms=20_000)
    tracemalloc.start()
    try:
        words = await CommandChecker({"ping": command}).check(endpoint(80), check)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert words.startswith("exit 3: no")
    assert len(words) <= 210
    assert peak < 5_000_000


async def test_a_command_that_hangs_ends_with_all_that_it_started(tmp_path: Path) -> None:
    late = tmp_path / "late"
    command = ("sh", "-c", f"(sleep 1; touch {late}) & sleep 30")
    check = HealthCheck(kind=CheckKind.COMMAND, command="ping", timeout_ms=200)
    started = time.monotonic()
    words = await CommandChecker({"ping": command}).check(endpoint(80), check)
    assert words == "no answer within 200 ms"
    assert time.monotonic() - started < PROMPT_S
    await asyncio.sleep(1.1)
    assert not late.exists()


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        ({}, "this observer knows no command 'ping'"),
        ({"ping": ("/nowhere/at/all",)}, "/nowhere/at/all cannot be started: No such file"),
    ],
)
async def test_a_command_that_cannot_run_fails_its_check(
    commands: dict[str, tuple[str, ...]], words: str
) -> None:
    check = HealthCheck(kind=CheckKind.COMMAND, command="ping")
    assert (await CommandChecker(commands).check(endpoint(80), check)).startswith(words)
