import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable

import pytest

from gateway import clock
from gateway.direct_http import Call, DirectServer, Limits, wire

LIMITS = Limits(head=1_000, body=100, waiting=3, connections=3, idle_s=0.4)


def _answer(call: Call) -> bytes | Awaitable[bytes]:
    if call.target == b"/slow":
        return _slow()
    if call.target == b"/broken":
        return _broken()
    if call.target == b"/at-once":
        raise RuntimeError("broken at once")
    told = f"{call.method.decode()} {call.target.decode()} {call.body.decode()}"
    return wire(200, told.encode(), ((b"X-Seen", call.header(b"x-here")),))


async def _slow() -> bytes:
    await asyncio.sleep(0.05)
    return wire(200, b"slow")


async def _broken() -> bytes:
    raise RuntimeError("broken")


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = DirectServer(_answer, LIMITS)
    yield await server.start("127.0.0.1", 0)
    await server.stop()


async def _said(port: int, sent: bytes) -> bytes:
    """What comes back until the server closes, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    came = b""
    try:
        async with asyncio.timeout(0.25):
            while part := await reader.read(65_536):
                came += part
    except TimeoutError:
        pass
    writer.close()
    return came


async def test_requests_of_a_connection_are_answered_in_their_order(port: int) -> None:
    body = b"POST /c HTTP/1.1\r\nHost: x\r\nX-Here: yes\r\nContent-Length: 3\r\n\r\nabc"
    slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    came = await _said(port, slow + b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n" + body)
    assert [came.find(each) for each in (b"slow", b"GET /b", b"POST /c abc")] == sorted(
        came.find(each) for each in (b"slow", b"GET /b", b"POST /c abc")
    )
    assert came.count(b"HTTP/1.1 200 OK") == 3
    assert b"X-Seen: yes" in came


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (
            b"GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            b"400",
        ),
        (b"GET /x HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", b"400"),
        (b"GET /x HTTP/1.1\r\nX: " + b"y" * 2_000 + b"\r\n\r\n", b"413"),
        (b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n" + b"y" * 200, b"413"),
        (b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n", b"500"),
        (b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n" * 9, b"400"),
        (b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n", b"500"),
    ],
)
async def test_what_cannot_be_answered_ends_the_connection(
    port: int, sent: bytes, status: bytes
) -> None:
    came = await _said(port, sent)
    assert came.startswith(b"HTTP/1.1 " + status) or status == b"400"
    assert b"HTTP/1.1 " + status in came
    assert b"Connection: close" in came


async def test_a_fault_behind_a_slow_answer_is_answered_too(port: int) -> None:
    slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    came = await _said(port, slow + b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n")
    assert came.index(b"HTTP/1.1 200") < came.index(b"HTTP/1.1 500")


@pytest.mark.parametrize("target", [b"/x", b"/slow"])
async def test_an_answer_to_head_has_no_body(port: int, target: bytes) -> None:
    """Its bytes would be read as the next answer of the connection."""
    head = b"HEAD " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    came = await _said(port, head + b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
    first, second, body = came.split(b"\r\n\r\n")
    assert b"Content-Length" in first
    assert second.startswith(b"HTTP/1.1 200")
    assert body == b"GET /b "


async def test_who_waits_with_his_body_is_told_to_go_on(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    told = b"POST /c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    writer.write(told)
    async with asyncio.timeout(5):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"abc")
        assert (await reader.readuntil(b"abc")).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_a_client_that_wants_no_more_is_let_go(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /x HTTP/1.0\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_connections_are_bounded_and_silent_ones_are_closed(port: int) -> None:
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    await asyncio.sleep(0.02)
    beyond, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await beyond.read() == b""
    # A head that never ends does not hold a place.
    held[0][1].write(b"GET /x HT")
    async with asyncio.timeout(3):
        assert [await reader.read() for reader, _ in held] == [b""] * 3
    for one in (writer, *(each for _, each in held)):
        one.close()


async def test_the_clock_tells_milliseconds_and_nothing_else() -> None:
    server = DirectServer(clock.answer)
    port = await server.start("127.0.0.1", 0)
    came = await _said(port, b"GET /time HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = came.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"no-store" in head
    assert abs(json.loads(body)["now_ms"] / 1_000 - time.time()) < 2
    assert b" 404 " in await _said(port, b"GET /other HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 405 " in await _said(port, b"POST /time HTTP/1.1\r\nHost: x\r\n\r\n")
    await server.stop()
