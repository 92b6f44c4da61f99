"""The agent's own proxy on raw sockets, in front of an upstream that records every byte."""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

from controlplane.domain.admission.asking import Asked
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import ADMITTED_RULING, Ruling
from gateway.proxy.options import ProxyOptions
from tests.acceptance.hostile_requests import REFUSED, SPELLINGS, mutated
from tests.gateway.proxy.site import OK, Site, answer, site

MUTATIONS = 400
# What a strict reader takes for a request: nothing else may ever reach an upstream.
STRICT = re.compile(
    rb"(?P<method>[A-Z]+) (?P<path>/[!-\"$->@-~]*)(?:\?(?P<query>[!-\"$-~]*))? HTTP/1\.1\r\n"
    rb"(?P<lines>(?:[a-zA-Z0-9!#$%&'*+.^`|~-]+: [^\x00-\x08\x0a-\x1f\x7f]*\r\n)*)\r\n"
)


def status(got: bytes) -> int:
    return int(got.split()[1]) if got.startswith(b"HTTP/1.") else 0


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


class Seen:
    """What policies were asked, and what the upstream got."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.got: list[bytes] = []

    async def rule(self, asked: Asked) -> Ruling:
        self.asked.append(asked)
        return ADMITTED_RULING

    async def answering(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        self.got.append(request)
        writer.write(OK)
        await writer.drain()


def as_judged(judged: Asked, sent: bytes, made: Site) -> None:
    """The upstream's reading of a request gets the route of the judged one."""
    found = STRICT.match(sent)
    assert found, sent
    lines = [line.partition(b": ") for line in found["lines"].split(b"\r\n") if line]
    names = [name.lower() for name, _, _ in lines]
    assert len(set(names)) == len(names)
    assert not {b"content-length", b"transfer-encoding"} <= set(names)
    headers = [(name.decode(), value.decode()) for name, _, value in lines]
    host = {name.lower(): value for name, value in headers}["host"]
    if judged.route == "old":
        # Rewritten on purpose: /old is /new there.
        assert found["path"].startswith(b"/new")
        assert host == "inner.example"
        return
    target = (found["path"] + b"?" + (found["query"] or b"")).decode()
    read = Request.of(target, found["method"].decode(), host, headers, judged.request.source)
    assert isinstance(read, Request)
    assert (read.path, read.query, read.host) == (
        judged.request.path,
        judged.request.query,
        judged.request.host,
    )
    table = made.session.directory.table
    route = table.match(read, time.time()).route
    assert route is not None
    assert route.id == judged.route


async def test_hostile_requests(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Malformed requests (smuggling forms, oversized headers, bad encodings) get 4xx and are never
    forwarded differently than judged."""
    seen = Seen()
    async with site(tmp_path, seen.answering, rule=seen.rule) as made:
        for name, raw in REFUSED.items():
            before = len(seen.got)
            got = await made.send(raw, 2)
            # One refusal, and nothing follows it on that connection.
            assert re.findall(rb"HTTP/1\.[01] (\d)", got) == [b"4"], (name, got)
            assert len(seen.got) == before, name
        seen.got.clear()
        seen.asked.clear()
        for name, raw in SPELLINGS.items():
            assert status(await made.ask(raw)) == 200, name
            as_judged(seen.asked[-1], seen.got[-1], made)
        routes = dict(zip(SPELLINGS, (one.route for one in seen.asked), strict=True))
        assert {name for name, route in routes.items() if route == "vip"} == {"level"}
        forwarded = await _mutations(made, seen)
    record_property("refused_forms", len(REFUSED))
    record_property("forwarded_otherwise", 0)
    record_property("mutations", f"{MUTATIONS}, of which forwarded {forwarded}")


async def _mutations(made: Site, seen: Seen) -> int:
    seen.asked.clear()
    seen.got.clear()
    for seed in range(MUTATIONS):
        got = await made.send(mutated(seed) + b"\r\n\r\n", 0.02)
        assert not re.search(rb"HTTP/1\.[01] 5", got), mutated(seed)
    # Answers that came later than somebody looked are forwarded requests all the same.
    await asyncio.sleep(0.2)
    judged = {one.request.headers["x-request-id"]: one for one in seen.asked}
    for sent in seen.got:
        found = re.search(rb"x-request-id: ([^\r]+)\r", sent)
        assert found, sent
        as_judged(judged[found[1].decode()], sent, made)
    return len(seen.got)


async def test_bodies_and_clients(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The agent's proxy passes 1 MiB bodies, chunked and slow clients and client aborts."""
    body = hashlib.sha256(b"1 MiB").digest() * 32_768
    seen = Seen()
    release = asyncio.Event()

    async def answering(request: bytes, writer: asyncio.StreamWriter) -> None:
        seen.got.append(request)
        if b" /wait " in request:
            await release.wait()
        if b" /mirror " in request:
            sent = request.partition(b"\r\n\r\n")[2]
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(sent) + sent)
        elif b" /pour " in request:
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for at in range(0, len(body), 65_536):
                writer.write(b"10000\r\n" + body[at : at + 65_536] + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(OK)
        await writer.drain()

    given = ProxyOptions(most_body_bytes=2_000_000, idle_s=5.0)
    async with site(tmp_path, answering, given=given) as made:
        head = b"POST /mirror HTTP/1.1\r\nHost: x\r\n"
        mirrored = await made.ask(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert mirrored.endswith(body)
        poured = await made.send(b"GET /pour HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 5)
        assert _unchunked(poured.partition(b"\r\n\r\n")[2]) == body
        await _slow_and_chunked(made, seen, body)
        await _slow_reader(made, body)
        await _abort(made, seen)
    record_property("body_bytes", len(body))


async def _slow_and_chunked(made: Site, seen: Seen, body: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
    for piece in (b"POST /a HT", b"TP/1.1\r\nHost: x\r\nTransfer-", b"Encoding: chunked\r\n\r\n"):
        writer.write(piece)
        await asyncio.sleep(0.05)
    for at in range(0, len(body), 131_072):
        writer.write(b"20000\r\n" + body[at : at + 131_072] + b"\r\n")
        await asyncio.sleep(0.05)
    # It goes on as it comes, not when all of it is here.
    await until(lambda: len(made.upstream.bytes) > len(body))
    assert not seen.got or b" /a " not in seen.got[-1]
    writer.write(b"0\r\n\r\n")
    assert status(await answer(reader)) == 200
    assert seen.got[-1].endswith(b"\r\n\r\n" + body)
    writer.close()


async def _slow_reader(made: Site, body: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", made.port, limit=4_096)
    writer.write(b"GET /pour HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    got = b""
    while piece := await reader.read(40_000):
        got += piece
        await asyncio.sleep(0.005)
    assert _unchunked(got.partition(b"\r\n\r\n")[2]) == body
    writer.close()


async def _abort(made: Site, seen: Seen) -> None:
    gone = made.upstream.gone
    _, writer = await asyncio.open_connection("127.0.0.1", made.port)
    writer.write(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
    await until(lambda: b" /wait " in seen.got[-1])
    writer.transport.abort()
    await until(lambda: made.upstream.gone == gone + 1)


def _unchunked(raw: bytes) -> bytes:
    pieces = []
    while raw:
        size, _, rest = raw.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            break
        pieces.append(rest[:length])
        raw = rest[length + 2 :]
    return b"".join(pieces)
