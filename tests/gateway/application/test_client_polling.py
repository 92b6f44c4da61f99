"""The client beside the real API: it follows changes, holds on, and tells what it saw."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from benchmarks.free_ports import free_port, free_ports
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import Invalid
from controlplane.domain.topology import Fleet
from gateway.application.last_good import LastGood
from gateway.client import AsyncClient
from tests.api.house import House
from tests.builders import fleet
from tests.gateway.fleet import GROUP, keep, options
from tests.gateway.fleet import fleet as gates
from tests.gateway.test_client import until


@contextlib.asynccontextmanager
async def served(house: House, port: int) -> AsyncIterator[str]:
    """The house's API on a port."""
    config = uvicorn.Config(house.app, port=port, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        await task


def smaller(declared: Fleet) -> Fleet:
    """The fleet without one endpoint."""
    first, second = declared.services[0].clusters
    fewer = replace(first, endpoints=first.endpoints[:-1])
    return replace(declared, services=(replace(declared.services[0], clusters=(fewer, second)),))


async def test_it_follows_what_is_published_and_holds_on_without_it(tmp_path: Path) -> None:
    house = await House().open()
    await house.declare()
    (port,) = free_ports(1)
    (tmp_path / "token").write_text(house.secrets[AccessRole.GATEWAY])
    async with AsyncClient(options(tmp_path, f"http://127.0.0.1:{port}")) as client:
        assert client.revision == 0
        async with served(house, port):
            await until(lambda: client.revision == 1)
            with client.instance("tickets") as lease:
                lease.answered(503)
            await until(lambda: house.app.state.services.outcomes.totals)
            await house.declare(smaller(fleet()))
            await until(lambda: client.revision == 2)
            await until(lambda: house.consumers.nodes(house.clock.now()))
            (seen,) = house.consumers.nodes(house.clock.now())
            assert (seen.name, seen.group) == ("orders-1", "edge")
        await asyncio.sleep(0.1)
        assert client.revision == 2
        with client.instance("tickets"):
            pass
    kept = LastGood(tmp_path / "kept").load(GROUP)
    assert kept is not None
    assert kept.revision == 2


async def test_what_is_left_is_told_at_the_end(tmp_path: Path) -> None:
    house = await House().open()
    await house.declare()
    (tmp_path / "token").write_text(house.secrets[AccessRole.GATEWAY])
    async with served(house, free_port()) as url:
        late = replace(options(tmp_path, url), report_s=60.0, start_s=10.0)
        async with AsyncClient(late) as client:
            assert client.revision == 1
            for _ in range(3):
                with client.instance("tickets"):
                    pass
    ((_, told),) = house.app.state.services.outcomes.told()[:1]
    assert sum(one.counts["served"] for _, one in house.app.state.services.outcomes.told()) == 3
    assert told.last_s == house.clock.now()


@pytest.mark.parametrize(
    ("status", "headers", "code"),
    [
        (403, {}, "control_plane_refuses"),
        (500, {}, "control_plane_away"),
        (200, {}, "stored_value_unreadable"),
        (200, {"X-Signalbox-Revision": "many"}, "polling.unexpected"),
    ],
)
async def test_what_is_no_answer_leaves_the_last_good_one(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    status: int,
    headers: dict[str, str],
    code: str,
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} X", "content-length: 2", *lines, "", "{}"])
        writer.write(head.encode().replace(b"{}", b"[]"))
        await writer.drain()
        writer.close()

    keep(tmp_path, gates())
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with AsyncClient(options(tmp_path, url)) as client:
            said = ""
            async with asyncio.timeout(10):
                while code not in said:
                    await asyncio.sleep(0.01)
                    said += capsys.readouterr().out
            assert client.revision == 1


NO_TOKENS = {"bytes": b"\xff\xfe", "letters": "schlüssel".encode(), "lines": b"a\nb", "empty": b""}


@pytest.mark.parametrize("kind", NO_TOKENS)
async def test_a_token_file_that_is_none_is_read_again(tmp_path: Path, kind: str) -> None:
    house = await House().open()
    await house.declare()
    token = tmp_path / "token"
    token.write_text(house.secrets[AccessRole.GATEWAY])
    async with served(house, free_port()) as url:
        own = replace(options(tmp_path, url), start_s=10.0, wait_s=0.05)
        async with AsyncClient(own) as client:
            token.write_bytes(NO_TOKENS[kind])
            with client.instance("tickets"):
                pass
            await asyncio.sleep(4 * own.report_s)
            token.write_text(house.secrets[AccessRole.GATEWAY])
            await house.declare(smaller(fleet()))
            await until(lambda: client.revision == 2)
            await until(lambda: house.app.state.services.outcomes.totals)


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://h", "http://", "http://h:x", "http://[x"])
def test_what_cannot_be_asked_is_an_error_at_the_start(tmp_path: Path, url: str) -> None:
    with pytest.raises(Invalid, match="http://HOST:PORT"):
        AsyncClient(options(tmp_path, url))


async def test_whoever_gives_up_at_the_start_leaves_no_task(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), AsyncClient(options(tmp_path)):
            pass
    assert asyncio.all_tasks() == before


async def test_without_a_token_it_goes_on(tmp_path: Path) -> None:
    keep(tmp_path, gates())
    own = options(tmp_path)
    own.token_file.unlink()
    async with AsyncClient(own) as client:
        with client.instance("gates"):
            pass
        await asyncio.sleep(0.1)
        assert client.revision == 1
