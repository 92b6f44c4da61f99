"""A service's whole answer for policies that keep answers."""

import asyncio
from pathlib import Path

import pytest

from controlplane.domain.admission.asking import Asked
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.proxy import fetching
from gateway.proxy.fetching import Fetcher
from tests.gateway.proxy.site import fleet, ok, site

READ = Asked(
    request=Request(path="/seats", host="x.example", query="date=1"), now_s=0.0, route="app"
)


async def test_it_asks_for_nobody_in_particular(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        answer = await Fetcher(made.session, made.proxy.upstreams).fetch(READ)
        assert (answer.status, answer.body) == (200, b"ok")
        lines = made.upstream.bytes.split(b"\r\n")
        assert lines[0] == b"GET /seats?date=1 HTTP/1.1"
        names = {line.partition(b":")[0] for line in lines[1:] if line}
        assert names == {
            b"host",
            b"accept",
            b"accept-encoding",
            b"x-forwarded-host",
            b"x-forwarded-proto",
            b"x-request-id",
        }


async def test_the_route_holds_for_it_too(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        fetcher = Fetcher(made.session, made.proxy.upstreams)
        old = Asked(request=Request(path="/old/a", host="x"), now_s=0.0, route="old")
        await fetcher.fetch(old)
        assert made.upstream.bytes.startswith(b"GET /new/a HTTP/1.1\r\nhost: inner.example\r\n")
        nowhere = Asked(request=Request(path="/a", host="x"), now_s=0.0, route="gone")
        with pytest.raises(Retryable, match="no service"):
            await fetcher.fetch(nowhere)


async def test_what_is_no_answer_for_everybody_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")

    async with site(tmp_path, failing) as made:
        with pytest.raises(Retryable, match="answered 500"):
            await Fetcher(made.session, made.proxy.upstreams).fetch(READ)
    monkeypatch.setattr(fetching, "MOST_BYTES", 1)
    async with site(tmp_path) as made:
        with pytest.raises(Retryable, match="too much"):
            await Fetcher(made.session, made.proxy.upstreams).fetch(READ)
    async with site(tmp_path, ok, lambda port: fleet(1)) as made:
        with pytest.raises(Retryable) as caught:
            await Fetcher(made.session, made.proxy.upstreams).fetch(READ)
        assert caught.value.code == "upstream_failed"
        made.session.directory._configuration = None
        with pytest.raises(Retryable):
            await Fetcher(made.session, made.proxy.upstreams).fetch(READ)
