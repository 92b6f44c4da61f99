"""An agent tells which policies it runs, and goes on telling."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from gateway.last_good.polling import Source
from gateway.policy_reporting import PolicyReporter

VERSION = "a" * 64


@dataclass(slots=True)
class Desk:
    """Takes reports, after some that it refuses."""

    refused: int = 0
    got: list[tuple[str | None, Any]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        if self.refused:
            self.refused -= 1
            return web.Response(status=503)
        self.got.append((request.headers.get("X-Signalbox-Gateway"), await request.json()))
        return web.json_response({"version": VERSION})

    async def heard(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.got) < count:
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def reporting(
    desk: Desk, folder: Path, repeat_s: float = 60.0
) -> AsyncIterator[PolicyReporter]:
    app = web.Application()
    app.router.add_post("/v1/policies:report", desk.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    token = folder / "token"
    token.write_text("sbx_x", encoding="utf-8")
    source = Source(
        urls=("http://127.0.0.1:1", f"http://127.0.0.1:{port}"),
        path="/v1/policies",
        token_file=token,
        identity="edge-1;edge",
    )
    reporter = PolicyReporter(source, repeat_s=repeat_s, retry_s=0.01)
    running = asyncio.create_task(reporter.run())
    try:
        yield reporter
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        await runner.cleanup()


async def test_a_new_word_is_told_at_once_and_again_later(tmp_path: Path) -> None:
    desk = Desk()
    async with reporting(desk, tmp_path, repeat_s=0.05) as reporter:
        reporter.tell(VERSION, {"edge": "too old" * 200})
        await desk.heard(2)
    who, body = desk.got[0]
    assert (who, body["version"]) == ("edge-1;edge", VERSION)
    (told,) = body["unreadable"]
    assert told["policy"] == "edge"
    assert len(told["reason"]) == 500
    assert desk.got[1][1] == body


async def test_who_does_not_take_it_is_told_again(tmp_path: Path) -> None:
    desk = Desk(refused=2)
    async with reporting(desk, tmp_path) as reporter:
        reporter.tell(VERSION, {})
        await desk.heard(1)
        reporter.tell("b" * 64, {})
        await desk.heard(2)
    assert [body["version"][0] for _, body in desk.got] == ["a", "b"]


async def test_without_a_token_nothing_is_sent(tmp_path: Path) -> None:
    desk = Desk()
    async with reporting(desk, tmp_path) as reporter:
        (tmp_path / "token").unlink()
        reporter.tell(VERSION, {})
        await asyncio.sleep(0.05)
        assert desk.got == []
        (tmp_path / "token").write_text("sbx_x", encoding="utf-8")
        await desk.heard(1)
