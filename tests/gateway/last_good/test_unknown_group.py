"""An agent of a gateway group that the fleet does not have is told so, and which there are."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from controlplane.domain.access import AccessRole
from controlplane.domain.routing.matching.table import Table
from gateway.last_good.polling import Source
from gateway.last_good.route_file import route_file
from gateway.last_good.section_keeper import SectionKeeper
from tests.api.house import House
from tests.gateway.application.test_client_polling import served


async def test_a_group_that_is_not_declared_is_named_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = await House().open()
    await house.declare()
    token = tmp_path / "token"
    token.write_text(house.secrets[AccessRole.GATEWAY])
    said = ""
    async with served(house, free_port()) as url:
        keeper = _routes(tmp_path, Source(urls=(url,), path="/v1/routes", token_file=token), "nine")
        running = asyncio.create_task(keeper.run())
        async with asyncio.timeout(10):
            while "polling.failed" not in said:
                await asyncio.sleep(0.01)
                said += capsys.readouterr().out
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    assert "gateway_group_not_found" in said
    assert "control_plane_away" not in said
    for words in (said, keeper.missing):
        assert "there is no gateway group nine; declared are edge" in words


async def test_a_page_of_some_other_server_is_no_word_of_the_control_plane(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    token = tmp_path / "token"
    token.write_text("sbx_x")
    said = ""
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        keeper = _routes(tmp_path, Source(urls=(url,), path="/v1/routes", token_file=token), "edge")
        running = asyncio.create_task(keeper.run())
        async with asyncio.timeout(10):
            while "control_plane_away" not in said:
                await asyncio.sleep(0.01)
                said += capsys.readouterr().out
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    assert keeper.missing == ""


def _routes(folder: Path, source: Source, group: str) -> SectionKeeper[Table]:
    async def take(_table: Table) -> None:
        return

    asked = Source(
        urls=source.urls,
        path=source.path,
        token_file=source.token_file,
        parameters={"gateway": group},
    )
    return SectionKeeper[Table]("routes", asked, route_file(folder), take)
