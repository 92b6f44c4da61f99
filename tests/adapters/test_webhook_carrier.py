"""The carrier of webhooks against a server that answers as receivers do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from controlplane.adapters.webhook_carrier import MOST_WORDS, HttpCarrier
from controlplane.ports.operations import Answer

ANSWERS = {
    "/ok": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/moved": b"HTTP/1.1 302 Found\r\nlocation: /ok\r\ncontent-length: 0\r\n\r\n",
    "/wrong": b"HTTP/1.1 500 Oops\r\ncontent-length: 4000\r\n\r\n" + b"w" * 4000,
    "/odd": b"HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\n\xff\xfe",
    "/gone": b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n",
    "/nonsense": b"I am no HTTP\r\n\r\n",
}


class Receiver:
    def __init__(self) -> None:
        self.port = 0
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self._answering: set[asyncio.Task[None] | None] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield f"http://127.0.0.1:{self.port}"
            # A connection that outlives its loop fails the next test.
            await asyncio.gather(*filter(None, self._answering))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._answering.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            length = int(head.lower().partition("content-length: ")[2].partition("\r")[0])
            self.bodies.append(await reader.readexactly(length))
            path = head.split(" ")[1]
            if path == "/slow":
                # Until whoever asks has had enough.
                await reader.read()
            writer.write(ANSWERS.get(path, b""))
            await writer.drain()
        writer.close()


@pytest.fixture
async def carrier() -> AsyncIterator[HttpCarrier]:
    made = HttpCarrier(timeout_s=0.5)
    yield made
    await made.close()


async def test_a_message_goes_as_it_is(carrier: HttpCarrier) -> None:
    receiver = Receiver()
    async with receiver.running() as url:
        answer = await carrier.post(f"{url}/ok", {"webhook-id": "msg_1"}, b'{"a": 1}')
    assert answer == Answer(status=204)
    assert receiver.bodies == [b'{"a": 1}']
    head = receiver.heads[0].lower()
    assert head.startswith("post /ok ")
    assert "webhook-id: msg_1" in head
    assert "user-agent: signalbox" in head


async def test_a_redirect_is_not_followed(carrier: HttpCarrier) -> None:
    receiver = Receiver()
    async with receiver.running() as url:
        assert (await carrier.post(f"{url}/moved", {}, b"x")).status == 302
    assert len(receiver.heads) == 1


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/wrong", 500, f"500: {'w' * MOST_WORDS}"),
        ("/odd", 400, "400: \ufffd\ufffd"),
        ("/gone", 410, "410"),
        ("/slow", 0, "no answer within 0.5 s"),
        ("/nonsense", 0, "RemoteProtocolError"),
        ("/hangs-up", 0, "RemoteProtocolError"),
    ],
)
async def test_what_a_receiver_does_is_told(
    carrier: HttpCarrier, path: str, status: int, words: str
) -> None:
    async with Receiver().running() as url:
        answer = await carrier.post(f"{url}{path}", {}, b"x")
    assert answer.status == status
    assert answer.words.startswith(words)
    assert len(answer.words) < 2 * MOST_WORDS


async def test_nobody_there_is_an_answer(carrier: HttpCarrier) -> None:
    receiver = Receiver()
    async with receiver.running() as url:
        pass
    answer = await carrier.post(f"{url}/ok", {}, b"x")
    assert answer.status == 0
    assert answer.words
