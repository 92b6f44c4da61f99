"""Callers that send heads and bodies without end, over a real socket."""

import asyncio
import resource
from collections.abc import AsyncIterator

import pytest
import uvicorn

from controlplane.api.edge import connection
from controlplane.api.edge import limits as edge
from controlplane.api.edge.connection import BoundedConnection
from controlplane.domain.access import AccessRole
from tests.api.house import House

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def port(house: House) -> AsyncIterator[int]:
    config = uvicorn.Config(
        house.app, port=0, log_config=None, access_log=False, http=BoundedConnection
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:
            await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


async def ended(streams: Streams) -> bytes:
    """What comes until the connection is closed."""
    async with asyncio.timeout(5):
        answer = await streams[0].read()
    streams[1].close()
    return answer


async def opened(port: int, first: bytes = b"") -> Streams:
    streams = await asyncio.open_connection("127.0.0.1", port)
    streams[1].write(first)
    return streams


async def test_a_head_has_a_size(port: int) -> None:
    streams = await opened(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
    await asyncio.sleep(0.05)
    streams[1].write(b"a" * 70_000)
    assert (await ended(streams)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
async def test_a_head_has_a_time(port: int, first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_WITHIN_S", 0.2)
    assert (await ended(await opened(port, first))).startswith(b"HTTP/1.1 408 ")


async def test_the_second_head_of_a_connection_has_a_time_too(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_WITHIN_S", 0.3)
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    answer = await ended(await opened(port, request + b"\r\n" + request))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


async def test_a_body_has_a_time(house: House, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_S", 0.2)
    monkeypatch.setattr(edge, "BODY_WITHIN_S", 0.2)
    token = house.secrets[AccessRole.ADMIN].encode()
    head = b"Host: x\r\nAuthorization: Bearer " + token + b"\r\nContent-Length: 9\r\n\r\n["
    for method in (b"POST /v1/samples", b"PUT /v1/fleet", b"POST /v1/tokens"):
        answer = await ended(await opened(port, method + b" HTTP/1.1\r\n" + head))
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"body_too_slow" in answer


async def test_who_waits_for_an_answer_is_not_hurried(
    house: House, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "BODY_WITHIN_S", 0.1)
    monkeypatch.setattr(connection, "HEAD_WITHIN_S", 0.1)
    token = house.secrets[AccessRole.ADMIN].encode()
    head = b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + b"\r\n\r\n"
    reader, writer = await opened(port, b"GET /v1/watch" + head)
    await asyncio.sleep(0.4)
    assert not reader.at_eof()
    writer.close()
    await house.declare()
    last = head.replace(b"Host", b"Connection: close\r\nHost")
    answer = await ended(await opened(port, b"GET /v1/weights?wait=0.4" + last))
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_connections_leave_files_to_others(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "most_connections", lambda: 2)
    idle = [await opened(port) for _ in range(2)]
    await asyncio.sleep(0.05)
    answer = await ended(await opened(port))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after" in answer
    idle[0][1].close()
    await asyncio.sleep(0.05)
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert (await ended(await opened(port, request))).startswith(b"HTTP/1.1 200 ")
    idle[1][1].close()


def test_as_many_files_as_are_allowed_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1_024, 4_096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.append(new))
    assert connection.most_connections() == 1_024 - connection.OTHER_FILES
    for _ in range(2):
        connection.allow_many_files()
    assert limits == [(1_024, 4_096), (4_096, 4_096)]


async def test_the_answer_to_a_body_that_goes_on_is_not_lost(port: int, house: House) -> None:
    token = house.secrets[AccessRole.ADMIN].encode()
    body = b"a" * (edge.MOST_BODY_BYTES + 1)
    head = b"PUT /v1/fleet HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token
    head += b"\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    for _ in range(5):
        reader, writer = await opened(port, head)
        writer.write(body)
        async with asyncio.timeout(5):
            await writer.drain()
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b"body_too_large" in await reader.readuntil(b"}")
            # The connection is as good as new.
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n")).endswith(b"200 OK\r\n")
        writer.close()
