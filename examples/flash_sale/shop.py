"""A shop behind flash sales: an item page with a cache, and orders with compare-and-set on SQLite.

    python examples/flash_sale/shop.py --database shop.db --listen 127.0.0.1:8090 \
        --item phone-9 --stock 10 --opens-at 2030-11-11T20:00:00+08:00

The sale's nodes bring batches of orders to `/orders`; see docs/flash-sale.md for what is asked of a
shop. Everything that is true is in the database: this process may be killed at any moment.
"""

import argparse
import asyncio
import json
import secrets
import sqlite3
import time
from datetime import datetime
from pathlib import Path

from aiohttp import web

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
  name TEXT PRIMARY KEY, price TEXT NOT NULL, left_over INTEGER NOT NULL CHECK (left_over >= 0),
  opens_at_s REAL NOT NULL, frozen_from_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS orders (
  id TEXT PRIMARY KEY, item TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (item, user));
CREATE TABLE IF NOT EXISTS transactions (
  number INTEGER PRIMARY KEY, item TEXT NOT NULL, left_before INTEGER NOT NULL);
"""
# Nobody takes one that is not there, and nobody before the opening: also not with the address.
TAKE_ONE = """
UPDATE items SET left_over = left_over - 1 WHERE name = ? AND left_over > 0 AND opens_at_s <= ?
"""
KEPT_S = 10.0
# This clock and that of the control plane may be apart by so much.
SKEW_S = 1.0
PAGE = Path(__file__).parent / "index.html"


class Stock:
    """The database; one call at a time."""

    def __init__(self, path: Path) -> None:
        self._lock = asyncio.Lock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(SCHEMA)
        # What is sold out stays so, and is known without asking.
        self._gone = {
            name for (name,) in self._database.execute("SELECT name FROM items WHERE left_over = 0")
        }

    def declare(self, item: str, stock: int, opens_at_s: float, frozen_s: float) -> None:
        """Put an item on offer; one that is there stays as it is."""
        row = (item, "99", stock, opens_at_s, opens_at_s - frozen_s)
        self._database.execute("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?)", row)

    async def sell(self, item: str, orders: list[dict[str, str]]) -> tuple[dict[str, str], int]:
        """What becomes of each order, and how many are left: one transaction, or none."""
        async with self._lock:
            return await asyncio.to_thread(self._sell, item, orders)

    async def item(self, name: str) -> dict[str, object] | None:
        """An item as it is shown."""
        async with self._lock:
            return await asyncio.to_thread(self._item, name)

    async def edit(self, name: str, price: str, author: str, reviewer: str) -> str:
        """Change the price; why not, "" when it is done."""
        async with self._lock:
            return await asyncio.to_thread(self._edit, name, price, author, reviewer)

    def _sell(self, item: str, orders: list[dict[str, str]]) -> tuple[dict[str, str], int]:
        if not orders or item in self._gone:
            return {each["id"]: self._known(each["id"]) for each in orders}, self._left(item)
        self._database.execute("BEGIN IMMEDIATE")
        try:
            before = self._left(item)
            self._database.execute(
                "INSERT INTO transactions (item, left_before) VALUES (?, ?)", (item, before)
            )
            outcomes = {each["id"]: self._one(item, each) for each in orders}
            left = self._left(item)
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        if left == 0:
            self._gone.add(item)
        return outcomes, left

    def _one(self, item: str, order: dict[str, str]) -> str:
        if self._known(order["id"]) == "accepted":
            return "accepted"
        if self._database.execute(TAKE_ONE, (item, time.time() + SKEW_S)).rowcount == 0:
            return "sold_out" if self._left(item) == 0 else "refused"
        row = (order["id"], item, order["user"])
        self._database.execute("INSERT INTO orders VALUES (?, ?, ?)", row)
        return "accepted"

    def _known(self, order: str) -> str:
        found = self._database.execute("SELECT 1 FROM orders WHERE id = ?", (order,)).fetchone()
        return "accepted" if found else "sold_out"

    def _left(self, item: str) -> int:
        found = self._database.execute("SELECT left_over FROM items WHERE name = ?", (item,))
        (left,) = found.fetchone() or (0,)
        return int(left)

    def _item(self, name: str) -> dict[str, object] | None:
        found = self._database.execute("SELECT price, left_over FROM items WHERE name = ?", (name,))
        row = found.fetchone()
        return None if row is None else {"name": name, "price": row[0], "left": row[1]}

    def _edit(self, name: str, price: str, author: str, reviewer: str) -> str:
        found = self._database.execute("SELECT frozen_from_s FROM items WHERE name = ?", (name,))
        (frozen_from_s,) = found.fetchone() or (0.0,)
        if time.time() >= frozen_from_s and reviewer in ("", author):
            return (
                f"{name} is frozen for its sale: a correction needs a reviewer who is not {author}"
            )
        self._database.execute("UPDATE items SET price = ? WHERE name = ?", (price, name))
        return ""


class Shop:
    """HTTP before the stock."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._cache: dict[str, tuple[float, dict[str, object]]] = {}
        self._page = PAGE.read_bytes()

    async def page(self, request: web.Request) -> web.Response:
        """The static page, for a CDN; the first visit names the user."""
        answer = web.Response(body=self._page, content_type="text/html")
        if "sid" not in request.cookies:
            answer.set_cookie("sid", secrets.token_urlsafe(16), httponly=True, samesite="Lax")
        return answer

    async def item(self, request: web.Request) -> web.Response:
        """An item, from the cache for 10 s."""
        name = request.match_info["name"]
        kept = self._cache.get(name)
        if kept is None or time.monotonic() - kept[0] > KEPT_S:
            found = await self._stock.item(name)
            if found is None:
                return web.Response(status=404)
            kept = self._cache[name] = (time.monotonic(), found)
        return web.json_response(kept[1])

    async def edit(self, request: web.Request) -> web.Response:
        """Change an item's price: `{"price", "author", "reviewer"}`."""
        told = await request.json()
        name = request.match_info["name"]
        words = (str(told.get(key, "")) for key in ("price", "author", "reviewer"))
        refused = await self._stock.edit(name, *words)
        self._cache.pop(name, None)
        return web.Response(status=409 if refused else 200, text=refused)

    async def orders(self, request: web.Request) -> web.Response:
        """A batch of orders of a sale."""
        told = await request.json()
        outcomes, left = await self._stock.sell(told["item"], told["orders"])
        orders = [{"id": order, "outcome": outcome} for order, outcome in outcomes.items()]
        return web.json_response({"orders": orders, "left": left})

    async def forget(self, request: web.Request) -> web.Response:
        """Forget what is cached of an item."""
        self._cache.pop(json.loads(await request.read())["item"], None)
        return web.Response()


def application(stock: Stock) -> web.Application:
    """The shop's addresses."""
    shop = Shop(stock)
    app = web.Application()
    app.router.add_get("/", shop.page)
    app.router.add_get("/items/{name}", shop.item)
    app.router.add_put("/items/{name}", shop.edit)
    app.router.add_post("/orders", shop.orders)
    app.router.add_post("/forget", shop.forget)
    return app


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A shop behind flash sales.")
    parser.add_argument("--database", type=Path, default=Path("shop.db"))
    parser.add_argument("--listen", default="127.0.0.1:8090", help="HOST:PORT [%(default)s]")
    parser.add_argument(
        "--item", action="append", required=True, metavar="NAME=STOCK", help="repeatedly"
    )
    parser.add_argument("--opens-at", required=True, help="RFC 3339, as 2030-11-11T20:00:00+08:00")
    parser.add_argument("--frozen-s", type=float, default=3_600.0)
    given = parser.parse_args()
    stock = Stock(given.database)
    opens_at_s = datetime.fromisoformat(given.opens_at).timestamp()
    for each in given.item:
        name, _, count = each.partition("=")
        stock.declare(name, int(count or 1), opens_at_s, given.frozen_s)
    host, _, port = given.listen.rpartition(":")
    web.run_app(application(stock), host=host, port=int(port), access_log=None, print=None)


if __name__ == "__main__":
    main()
