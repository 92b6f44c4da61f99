"""The reverse proxy on real sockets."""

import asyncio
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.services import LoadBalancing
from controlplane.domain.topology import Fleet
from gateway.admission.enforcing import ADMITTED_RULING, Answer, Outcome, Ruling
from gateway.proxy.options import ProxyOptions
from tests.gateway.proxy.site import OK, answer, fleet, ok, site

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


def status(got: bytes) -> int:
    return int(got.split()[1])


async def until(holds: object) -> None:
    async with asyncio.timeout(5):
        while not holds():  # type: ignore[operator]
            await asyncio.sleep(0.005)


async def test_connections_are_reused_on_both_sides(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
        for _ in range(5):
            writer.write(GET)
            assert status(await answer(reader)) == 200
        writer.close()
        assert len(made.upstream.connections) == 1


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async def echo(request: bytes, writer: asyncio.StreamWriter) -> None:
        path = request.split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(path), path))

    async with site(tmp_path, echo) as made:
        got = await made.send(GET + GET.replace(b"/a", b"/b"), 0.3)
        assert re.findall(rb"\r\n\r\n(/.)", got) == [b"/a", b"/b"]


async def test_an_answer_has_the_type_and_the_server_that_the_upstream_named(
    tmp_path: Path,
) -> None:
    # A type of the library's would make browsers download a page that named none.
    async with site(tmp_path) as made:
        assert b"content-type" not in (await made.ask(GET)).lower()
    kept = Answer(status=200, headers=(("Server", "shop/1"),), body=b"ok")
    decision = Decision(verdict=Verdict.ANSWER, reason="fresh", status=200)

    async def cached(asked: Asked) -> Ruling:
        return Ruling(decision=decision, answer=kept)

    async with site(tmp_path, rule=cached) as made:
        head = (await made.ask(GET)).lower()
    assert b"content-type" not in head
    assert head.count(b"server:") == 1
    assert b"server: shop/1" in head


async def test_an_upstream_that_is_not_there_or_says_nothing(tmp_path: Path) -> None:
    async def silent(request: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with site(tmp_path, silent, lambda port: fleet(port, timeout_ms=100)) as made:
        assert status(await made.ask(GET)) == 504
        await until(lambda: made.upstream.gone == 1)
    async with site(tmp_path, ok, lambda port: fleet(1)) as made:
        got = await made.ask(GET)
        assert status(got) == 502
        assert b"upstream_failed" in got


async def test_a_failed_read_is_asked_again_and_a_write_is_not(tmp_path: Path) -> None:
    asked = []

    async def fails(request: bytes, writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        writer.write(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n")

    async with site(tmp_path, fails, lambda port: fleet(port, attempts=2)) as made:
        assert status(await made.ask(GET)) == 503
        assert len(asked) == 3
        post = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz"
        assert status(await made.ask(post)) == 503
        assert len(asked) == 4


async def test_half_an_answer_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    async def half(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.close()

    async with site(tmp_path, half) as made:
        got = await made.send(GET, 2)
        assert not got.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("method", "raw", "expected"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n", b"500"),
        (b"GET", b'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n', None),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n", None),
    ],
)
async def test_answers_without_a_body(
    tmp_path: Path, method: bytes, raw: bytes, expected: bytes | None
) -> None:
    async def bare(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)

    async with site(tmp_path, bare) as made:
        got = await made.send(GET.replace(b"GET", method), 0.2)
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.split()[1] == raw.split()[1]
        assert body == b""
        found = re.search(rb"(?i)content-length: (\d+)", head)
        assert (found.group(1) if found else None) in (expected, b"0")


async def test_headers_of_the_upstreams_connection_stay_there(tmp_path: Path) -> None:
    async def chatty(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: keep-alive, x-secret\r\nx-secret: 1\r\n"
            b"keep-alive: timeout=5\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n"
            b"server: theirs\r\ncontent-length: 2\r\n\r\nok"
        )

    async with site(tmp_path, chatty) as made:
        got = (await made.ask(GET)).lower()
        assert b"x-secret" not in got
        assert b"keep-alive" not in got
        assert got.count(b"set-cookie") == 2
        assert b"server: theirs" in got


async def test_what_is_too_much_is_refused(tmp_path: Path) -> None:
    given = ProxyOptions(most_body_bytes=10, most_connections=2, head_s=0.1, idle_s=0.2)
    async with site(tmp_path, given=given) as made:
        chunked = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert status(await made.send(chunked + b"b\r\nabcdefghijk\r\n0\r\n\r\n", 2)) == 413
        slow = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"
        assert status(await made.send(slow, 2)) == 408
        assert b"ab" not in made.upstream.bytes[-5:] or made.upstream.open == 0
        assert await made.send(b"GET /a HT", 2) == b""
        held = [await asyncio.open_connection("127.0.0.1", made.port) for _ in range(2)]
        assert status(await made.send(GET, 1)) == 503
        for _, writer in held:
            writer.close()


async def test_a_body_that_breaks_off_never_ends_upstream(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        head = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
        writer.write(head)
        await until(lambda: made.upstream.bytes.endswith(b"3\r\nabc\r\n"))
        writer.write(b"zz\r\n")
        got = await asyncio.wait_for(reader.read(), 2)
        assert status(got) == 400
        writer.close()
        await until(lambda: made.upstream.open == 0)
        assert made.upstream.bytes.endswith(b"3\r\nabc\r\n")


async def test_policies_rule_and_hear_what_became_of_it(tmp_path: Path) -> None:
    told: list[Outcome] = []
    asked: list[Asked] = []

    async def rule(one: Asked) -> Ruling:
        asked.append(one)
        match one.request.path:
            case "/refused":
                decision = Decision(
                    verdict=Verdict.REFUSE, reason="too_much", status=429, retry_after_s=1.2
                )
                return Ruling(decision=decision, response_headers=(("x-why", "policy"),))
            case "/answered":
                decision = Decision(verdict=Verdict.ANSWER, status=200)
                return Ruling(decision=decision, answer=Answer(status=200, body=b"known"))
            case "/diverted":
                return Ruling(decision=Decision(verdict=Verdict.DIVERT, service="nobody"))
            case "/marked":
                return Ruling(
                    decision=ADMITTED_RULING.decision,
                    request_headers=(("X-Class", "gold"),),
                    response_headers=(("set-cookie", "t=1"),),
                    ended=told.append,
                )
            case _:
                return ADMITTED_RULING

    async with site(tmp_path, rule=rule) as made:
        refused = (await made.ask(GET.replace(b"/a", b"/refused"))).lower()
        assert b"retry-after: 2" in refused
        assert b"x-why: policy" in refused
        assert status(refused) == 429
        assert (await made.ask(GET.replace(b"/a", b"/answered"))).endswith(b"known")
        assert made.upstream.bytes == b""
        assert status(await made.ask(GET.replace(b"/a", b"/diverted"))) == 503
        marked = GET.replace(b"/a", b"/marked").replace(b"\r\n\r\n", b"\r\nx-class: lead\r\n\r\n")
        assert b"set-cookie: t=1" in (await made.ask(marked)).lower()
        assert b"x-class: gold" in made.upstream.bytes.lower()
        assert b"lead" not in made.upstream.bytes
        assert [one.status for one in told] == [200]
        assert (asked[0].route, asked[0].service) == ("app", "app")


async def test_what_policies_say_in_a_header_chooses_the_route(tmp_path: Path) -> None:
    async def rule(one: Asked) -> Ruling:
        level = one.request.path.lstrip("/")
        return Ruling(decision=ADMITTED_RULING.decision, request_headers=(("X-Level", level),))

    async with site(tmp_path, rule=rule) as made:
        barred = await made.ask(GET.replace(b"/a", b"/barred"))
        assert status(barred) == 410
        assert barred.endswith(b"not for you\n")
        assert made.upstream.bytes == b""
        assert status(await made.ask(GET.replace(b"/a", b"/other"))) == 200
        assert b"x-level: other" in made.upstream.bytes.lower()


async def test_a_client_that_goes_away_ends_the_request(tmp_path: Path) -> None:
    told: list[Outcome] = []

    async def rule(one: Asked) -> Ruling:
        return Ruling(decision=ADMITTED_RULING.decision, ended=told.append)

    async def slow(request: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with site(tmp_path, slow, rule=rule) as made:
        _, writer = await asyncio.open_connection("127.0.0.1", made.port)
        writer.write(GET)
        await until(lambda: made.upstream.bytes)
        writer.transport.abort()
        await until(lambda: made.upstream.gone == 1)
        assert [one.status for one in told] == [0]


async def test_big_bodies_go_through_whole_both_ways(tmp_path: Path) -> None:
    body = hashlib.sha256(b"seed").digest() * 40_000

    async def echo(request: bytes, writer: asyncio.StreamWriter) -> None:
        got = request.partition(b"\r\n\r\n")[2]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(got) + got)
        await writer.drain()

    async with site(tmp_path, echo) as made:
        head = b"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        got = await made.ask(head + body)
        assert got.endswith(body)


async def test_expect_is_answered_here(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
        writer.write(
            b"POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert b"100" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 2)
        writer.write(b"hi")
        assert (await answer(reader)).endswith(b"ok")
        writer.close()
        assert b"expect" not in made.upstream.bytes.lower()


async def test_without_a_configuration_it_says_so(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        made.session.directory._configuration = None
        got = await made.ask(GET)
        assert status(got) == 503
        assert b"no_configuration" in got
    assert OK


async def test_a_user_of_a_sticky_service_gets_the_cookie_once(tmp_path: Path) -> None:
    def sticky(port: int) -> Fleet:
        plain = fleet(port)
        services = [replace(one, load_balancing=LoadBalancing.MAGLEV) for one in plain.services]
        return replace(plain, services=tuple(services))

    async with site(tmp_path, declared=sticky) as made:
        got = await made.ask(GET)
        found = re.search(rb"(?i)set-cookie: (signalbox_sid=([^;]+))", got)
        assert found
        assert b"x-request-id: " + found.group(2) in made.upstream.bytes
        again = GET.replace(b"\r\n\r\n", b"\r\nCookie: " + found.group(1) + b"\r\n\r\n")
        assert b"set-cookie" not in (await made.ask(again)).lower()
