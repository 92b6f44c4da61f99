"""A shop that takes batches of orders, for tests: real HTTP, stock in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True, kw_only=True)
class ShopServer:
    """What it sold and what it was told; `faults` answers are broken first."""

    left: int
    faults: int = 0
    pause_s: float = 0.0
    url: str = ""
    bought: dict[str, str] = field(default_factory=dict)
    batches: list[list[str]] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    async def orders(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.pause_s)
        if self.faults > 0:
            self.faults -= 1
            return web.Response(status=500)
        told = await request.json()
        if told["orders"]:
            self.batches.append([each["user"] for each in told["orders"]])
        return web.json_response(
            {"orders": [self._sold(each) for each in told["orders"]], "left": self.left}
        )

    async def forget(self, _request: web.Request) -> web.Response:
        self.forgotten.append(len(self.batches))
        return web.Response()

    def _sold(self, order: dict[str, str]) -> dict[str, str]:
        if order["user"] in self.refused:
            return {"id": order["id"], "outcome": "refused"}
        if order["id"] not in self.bought and self.left > 0:
            self.left -= 1
            self.bought[order["id"]] = order["user"]
        known = order["id"] in self.bought
        return {"id": order["id"], "outcome": "accepted" if known else "sold_out"}


@asynccontextmanager
async def shop_server(**fields: object) -> AsyncIterator[ShopServer]:
    """A shop on a free port of loopback."""
    shop = ShopServer(**fields)  # type: ignore[arg-type]
    app = web.Application()
    app.router.add_post("/orders", shop.orders)
    app.router.add_post("/forget", shop.forget)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server = site._server
    assert isinstance(server, asyncio.Server)
    shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield shop
    finally:
        await runner.cleanup()
