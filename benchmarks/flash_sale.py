"""A flash sale end to end: 10,000 buyers, 10 nodes with one Redis, a shop on SQLite, all processes.

1, 10, 100 and 1,000 items, and a sale of 100 in whose middle a node is killed and Redis restarted;
ordinary traffic beside them; the time endpoint beside nginx. In the same run for comparison: the
same buyers, one order each, at the shop itself.
`python -m benchmarks.flash_sale [--quick] [--json]`
"""

import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import command
from benchmarks.flash_sale_clock import clock_rates
from benchmarks.flash_sale_figures import Played, ordinary_figures, sale_figures, show
from benchmarks.flash_sale_ordinary import Ordinary, ordinary_site
from benchmarks.flash_sale_site import SaleSite, sale_site

OVER_S, PRESSES = 2.0, 3
BROKEN, BROKEN_STOCK = "broken", 100
DIRECT = "direct"
LONGEST_LINE = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is played.

    Attributes:
        stocks: items of each sale.
        in_s: between declaration and opening.
    """

    buyers: int
    nodes: int
    stocks: tuple[int, ...]
    in_s: float
    clock_s: int
    clock_rounds: int
    ordinary_s: float


FULL = Size(
    buyers=10_000,
    nodes=10,
    stocks=(1, 10, 100, 1_000),
    in_s=6.0,
    clock_s=3,
    clock_rounds=3,
    ordinary_s=6.0,
)
QUICK = Size(
    buyers=10_000, nodes=10, stocks=(1, 100), in_s=5.0, clock_s=1, clock_rounds=2, ordinary_s=3.0
)


def main() -> None:
    """Play, print, and say so when something was oversold or lost."""
    options = command.options(__doc__, quick="two sales and shorter rounds")
    with tempfile.TemporaryDirectory(prefix="signalbox-flash-sale-") as folder:
        figures = asyncio.run(measure(Path(folder), QUICK if options.quick else FULL))
    command.end(options, "flash_sale", figures)


async def measure(folder: Path, size: Size) -> dict[str, float]:
    """All figures."""
    figures = await clock_rates(folder, size.clock_s, size.clock_rounds)
    items = {f"item-{stock}": stock for stock in size.stocks}
    items |= {BROKEN: BROKEN_STOCK, DIRECT: 1}
    played = []
    async with sale_site(folder, size.nodes, items) as site, ordinary_site() as ordinary:
        before_ms = await ordinary.round(size.ordinary_s)
        during_ms: list[float] = []
        for stock in size.stocks:
            command.told(f"a sale of {stock}")
            sale = Sale(item=f"item-{stock}", stock=stock)
            opens_at_s = await declare(site, sale, size)
            visits = asyncio.create_task(visited(ordinary, opens_at_s))
            played.append(await play(site, sale, opens_at_s, size))
            during_ms += await visits
        command.told("a sale with faults, and one without nodes")
        broken = Sale(item=BROKEN, stock=BROKEN_STOCK)
        opens_at_s = await declare(site, broken, size)
        striking = asyncio.create_task(strike(site, opens_at_s))
        played.append(await play(site, broken, opens_at_s, size))
        await striking
        direct = await play_direct(site, size)
    figures |= ordinary_figures(before_ms, during_ms, own=ordinary.own)
    figures |= sale_figures(played, direct)
    show(played, direct, figures)
    return figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """What is sold; the policy has the item's name, too."""

    item: str
    stock: int


async def declare(site: SaleSite, sale: Sale, size: Size) -> float:
    """Declare a sale and return when it opens: twice as many forms as items, 10 a node at least."""
    forms = max(10, 2 * sale.stock // size.nodes)
    return await site.declare(
        sale.item, sale.item, sale.stock, forms_per_node=forms, in_s=size.in_s
    )


async def play(site: SaleSite, sale: Sale, opens_at_s: float, size: Size) -> Played:
    """Let the crowd come to a declared sale."""
    told = await crowd(
        {
            "sale": sale.item,
            "ports": [node.port for node in site.nodes],
            "buyers": size.buyers,
            "presses": PRESSES,
            "over_s": OVER_S,
            "opens_at_s": opens_at_s,
        }
    )
    count, late = site.transactions(sale.item)
    return Played(
        item=sale.item,
        stock=sale.stock,
        told=told,
        funnel=await site.funnel(sale.item),
        orders=site.orders(sale.item),
        transactions=count,
        late_transactions=late,
    )


async def play_direct(site: SaleSite, size: Size) -> Played:
    """The same buyers, each with one order, at the shop itself."""
    told = await crowd(
        {
            "sale": DIRECT,
            "ports": [site.shop_port],
            "buyers": size.buyers,
            "presses": 1,
            "over_s": OVER_S,
            "opens_at_s": time.time() + 2.0,
            "direct": True,
        }
    )
    count, late = site.transactions(DIRECT)
    return Played(
        item=DIRECT,
        stock=1,
        told=told,
        funnel={},
        orders=site.orders(DIRECT),
        transactions=count,
        late_transactions=late,
    )


async def crowd(told: dict[str, Any]) -> dict[str, Any]:
    """Run the crowd as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from benchmarks.flash_sale_buyers import run; run()"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    output, _ = await process.communicate(f"{json.dumps(told)}\n".encode())
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


async def strike(site: SaleSite, opens_at_s: float) -> None:
    """Kill a node and start it again, restart Redis with nothing in it: all within the sale."""
    await asyncio.sleep(opens_at_s + 0.3 - time.time())
    node = site.nodes[0]
    if node.child is not None:
        await node.child.kill()
    await site.start_node(node)
    await asyncio.sleep(opens_at_s + 0.6 - time.time())
    if site.redis is not None:
        await site.redis.kill()
    await asyncio.sleep(0.2)
    await site.start_redis()


async def visited(ordinary: Ordinary, opens_at_s: float) -> list[float]:
    """Ordinary visitors from the opening to the end."""
    await asyncio.sleep(opens_at_s - time.time())
    return await ordinary.round(OVER_S + 0.5)


if __name__ == "__main__":
    main()
