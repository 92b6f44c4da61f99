"""Everything that a flash sale needs, as programs on loopback: control plane, Redis, shop, nodes.

Used by `benchmarks.flash_sale` and by its acceptance test.
"""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child

START_S = 60.0
SHOP = Path(__file__).parents[1] / "examples" / "flash_sale" / "shop.py"
CENTERS = [{"name": "here", "role": "primary", "region": "r"}]


@dataclass(slots=True, kw_only=True)
class Node:
    """A node of the sale, which can be killed and started again."""

    number: int
    port: int
    status: int
    child: Child | None = None


@dataclass(slots=True, kw_only=True)
class SaleSite:
    """The running site.

    Attributes:
        sales: what is declared, by name.
    """

    folder: Path
    api: httpx.AsyncClient
    nodes: list[Node]
    redis_port: int
    shop_port: int
    serve: Child
    redis: Child | None = None
    sales: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def declare(self, name: str, item: str, stock: int, **changes: Any) -> float:
        """Declare a sale that opens soon, and return when; all nodes know it then."""
        opens_at_s = time.time() + float(changes.pop("in_s", 3.0))
        self.sales[name] = {
            "item": item,
            "stock": stock,
            "opens_at": _stamp(opens_at_s),
            "ends_at": _stamp(opens_at_s + 600),
            "orders_url": f"http://127.0.0.1:{self.shop_port}/orders",
            **changes,
        }
        policies = [{"name": each, "flash_sale": sale} for each, sale in self.sales.items()]
        document = {"datacenters": CENTERS, "policies": policies}
        answer = await self.api.put("/v1/fleet", json=document, params={"force": "true"})
        if not answer.is_success:
            raise RuntimeError(answer.text)
        async with httpx.AsyncClient(trust_env=False) as http:
            for node in self.nodes:
                await _until(partial(_knows, http, node, name), f"{name} on {node.number}")
        return opens_at_s

    async def start_node(self, node: Node) -> None:
        """Start one; it goes by what is on its disk at once."""
        node.child = await _program(
            *(sys.executable, "-m", "gateway", "sales", "--group", "edge"),
            *("--api", str(self.api.base_url), "--token-file", str(self.folder / "token")),
            *("--folder", str(self.folder / f"node-{node.number}")),
            *("--redis", f"redis://127.0.0.1:{self.redis_port}/0"),
            *("--listen", f"127.0.0.1:{node.port}", "--status", f"127.0.0.1:{node.status}"),
            log=self.folder / f"node-{node.number}.log",
        )

    async def start_redis(self) -> None:
        """Start one with nothing in it."""
        self.redis = await _program(
            *(_binary("redis-server"), "--port", str(self.redis_port), "--bind", "127.0.0.1"),
            *("--save", "", "--dir", str(self.folder)),
            log=self.folder / "redis.log",
        )

    async def funnel(self, sale: str) -> dict[tuple[str, str], int]:
        """(layer, outcome) -> requests that were answered there, over all nodes."""
        found: dict[tuple[str, str], int] = {}
        async with httpx.AsyncClient(trust_env=False) as http:
            for node in self.nodes:
                url = f"http://127.0.0.1:{node.status}"
                # One that was killed in the sale may still be on its way.
                await _until(partial(http.get, f"{url}/healthz"), f"node {node.number} is up")
                answer = await http.get(f"{url}/metrics")
                for labels, count in _counts(answer.text, "signalbox_sale_answers_total"):
                    if labels["sale"] == sale:
                        key = (labels["layer"], labels["outcome"])
                        found[key] = found.get(key, 0) + count
        return found

    def orders(self, item: str) -> dict[str, str]:
        """Order -> user, as the shop's database has it."""
        return dict(self._rows("SELECT id, user FROM orders WHERE item = ?", item))

    def transactions(self, item: str) -> tuple[int, int]:
        """How many the shop's database has seen for an item, and how many after it was gone."""
        ((count, late),) = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(left_before = 0), 0) FROM transactions WHERE item = ?",
            item,
        )
        return int(count), int(late)

    def _rows(self, query: str, item: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.folder / "shop.db")) as database:
            return database.execute(query, (item,)).fetchall()


@contextlib.asynccontextmanager
async def sale_site(folder: Path, nodes: int, items: Mapping[str, int]) -> AsyncIterator[SaleSite]:
    """Everything running and nothing declared; the shop has these items."""
    api, ads, redis, shop, *ports = free_ports(4 + 2 * nodes)
    children: list[Child] = []
    try:
        environment = {
            "SIGNALBOX_DATA_DIR": str(folder / "data"),
            "SIGNALBOX_HTTP_PORT": str(api),
            "SIGNALBOX_ADS_PORT": str(ads),
        }
        children.append(
            await _program(
                *(sys.executable, "-m", "controlplane", "serve"),
                log=folder / "serve.log",
                environment=environment,
            )
        )
        children.append(await _shop(folder, shop, items))
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{api}", trust_env=False, timeout=30
        ) as client:
            site = SaleSite(
                folder=folder,
                api=client,
                nodes=[
                    Node(number=number, port=ports[2 * number], status=ports[2 * number + 1])
                    for number in range(nodes)
                ],
                redis_port=redis,
                shop_port=shop,
                serve=children[0],
            )
            await _authorize(site)
            await site.start_redis()
            # One after the other: each start is a second of a processor.
            for node in site.nodes:
                await site.start_node(node)
            yield site
            children += [node.child for node in site.nodes if node.child is not None]
            if site.redis is not None:
                children.append(site.redis)
    finally:
        for child in reversed(children):
            await child.kill()


async def _shop(folder: Path, port: int, items: Mapping[str, int]) -> Child:
    offered = [word for name, stock in items.items() for word in ("--item", f"{name}={stock}")]
    return await _program(
        *(sys.executable, str(SHOP), "--database", str(folder / "shop.db"), *offered),
        *("--listen", f"127.0.0.1:{port}", "--opens-at", _stamp(time.time()), "--frozen-s", "0"),
        log=folder / "shop.log",
    )


async def _authorize(site: SaleSite) -> None:
    log = site.folder / "serve.log"
    await _until(lambda: asyncio.to_thread(_token_in, log), "the control plane's first token")
    secret = await asyncio.to_thread(_token_in, log)
    site.api.headers["authorization"] = f"Bearer {secret}"
    body = {"name": "admin", "role": "admin"}
    await _until(partial(_ready, site.api), "the control plane")
    admin = await site.api.post("/v1/tokens", json=body)
    site.api.headers["authorization"] = f"Bearer {admin.json()['secret']}"
    gateway = await site.api.post("/v1/tokens", json={"name": "sales", "role": "gateway"})
    await asyncio.to_thread((site.folder / "token").write_text, gateway.json()["secret"])


def _token_in(log: Path) -> str:
    words = log.read_text().split() if log.exists() else []
    return next((word for word in words if word.startswith("sbx_")), "")


async def _ready(api: httpx.AsyncClient) -> bool:
    return (await api.get("/healthz")).is_success


async def _knows(http: httpx.AsyncClient, node: Node, sale: str) -> bool:
    answer = await http.get(f"http://127.0.0.1:{node.port}/sales/{sale}/script.js")
    return answer.is_success


async def _program(*command: str, log: Path, environment: Mapping[str, str] | None = None) -> Child:
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **(environment or {})}, stdout=output, stderr=output
        )
    return Child(process=process)


async def _until(holds: Callable[[], Any], what: str) -> None:
    try:
        async with asyncio.timeout(START_S):
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if await holds():
                        return
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise RuntimeError(f"not within {START_S:g} s: {what}") from error


def _counts(text: str, name: str) -> Sequence[tuple[dict[str, str], int]]:
    """(labels, value) of each sample of a counter in Prometheus' text format."""
    found = []
    for line in text.splitlines():
        if line.startswith(f"{name}{{"):
            labels, _, value = line.removeprefix(f"{name}{{").rpartition("} ")
            pairs = (pair.partition("=") for pair in labels.split(","))
            found.append(({key: word.strip('"') for key, _, word in pairs}, int(float(value))))
    return found


def _binary(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"no {name}: .ci/servers installs it")
    return found


def _stamp(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat()
