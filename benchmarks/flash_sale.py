"""A flash sale end to end: 10,000 buyers, 10 nodes with one Redis, a shop on SQLite, all processes.

1, 10, 100 and 1,000 items, and a sale of 100 in whose middle a node is killed and Redis restarted;
ordinary traffic beside them; the time endpoint beside nginx. In the same run for comparison: the
same buyers, one order each, at the shop itself.
`python -m benchmarks.flash_sale [--quick] [--json]`
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.flash_sale_clock import clock_rates
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of one sale."""

    item: str
    stock: int
    told: dict[str, Any]
    funnel: dict[tuple[str, str], int]
    orders: dict[str, str]
    transactions: int
    late_transactions: int

    @property
    def oversold(self) -> int:
        """Orders that the shop has beyond the stock."""
        return max(0, len(self.orders) - self.stock)

    @property
    def lost(self) -> int:
        """Orders that a buyer was told are his and that the shop does not have."""
        return sum(self.orders.get(order) != user for order, user in self.told["accepted"].items())

    @property
    def untold(self) -> int:
        """Orders that the shop has and whose buyer was not told so in the end."""
        return len(set(self.orders) - set(self.told["accepted"]))

    @property
    def forms(self) -> int:
        """Forms that were given out."""
        return self.funnel.get(("service", "form"), 0)

    @property
    def share_stopped_of_service(self) -> float:
        """Percent of what came to the service that did not come to the shop."""
        came = sum(n for (layer, _), n in self.funnel.items() if layer in ("service", "shop"))
        through = sum(n for (layer, _), n in self.funnel.items() if layer == "shop")
        return 100.0 * (1.0 - through / max(1, came))

    def share_stopped(self, *beyond: str) -> float:
        """Percent of what came to purchase addresses that did not come to these layers."""
        came = sum(n for (layer, _), n in self.funnel.items() if layer != "front")
        through = sum(n for (layer, _), n in self.funnel.items() if layer in beyond)
        return 100.0 * (1.0 - through / max(1, came))


def main() -> None:
    """Play, print, and say so when something was oversold or lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two sales and shorter rounds")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signalbox-flash-sale-") as folder:
        figures = asyncio.run(measure(Path(folder), QUICK if options.quick else FULL))
    if options.json:
        print(json.dumps({"benchmark": "flash_sale", "figures": figures}))


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
            sale = Sale(item=f"item-{stock}", stock=stock)
            opens_at_s = await declare(site, sale, size)
            visits = asyncio.create_task(visited(ordinary, opens_at_s))
            played.append(await play(site, sale, opens_at_s, size))
            during_ms += await visits
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


def sale_figures(played: list[Played], direct: Played) -> dict[str, float]:
    """What the issue asks of all sales together, and of the one with a single item."""
    single = played[0]
    waits = [one.told["all_answered_s"] for one in played]
    return {
        "buyers": float(single.told["buyers"]),
        "oversold": float(sum(one.oversold for one in played)),
        "lost_orders": float(sum(one.lost for one in played)),
        "untold_orders": float(sum(one.untold for one in played)),
        "unsold": float(sum(one.stock - len(one.orders) for one in played[:-1])),
        "unsold_with_faults": float(played[-1].stock - len(played[-1].orders)),
        "transactions_after_sold_out": float(sum(one.late_transactions for one in played)),
        "all_answered_s": max(waits[:-1]),
        "all_answered_with_faults_s": waits[-1],
        "unanswered": float(sum(one.told["unanswered"] for one in played)),
        "orders_of_one_item": float(len(single.orders)),
        "forms_of_one_item": float(single.forms),
        "stopped_site_pct": single.share_stopped("service", "shop"),
        "stopped_service_pct": single.share_stopped("shop"),
        "stopped_of_service_pct": single.share_stopped_of_service,
        "direct_answered_s": float(direct.told["all_answered_s"]),
        "direct_wait_ms_p99": float(direct.told["wait_ms_p99"]),
        "wait_ms_p99": float(single.told["wait_ms_p99"]),
    }


def ordinary_figures(
    before_ms: list[float], during_ms: list[float], *, own: bool
) -> dict[str, float]:
    """Ordinary traffic before and during the sales."""
    before, during = (sorted(each)[int(0.99 * len(each))] for each in (before_ms, during_ms))
    return {
        "ordinary_ms_p99_before": before,
        "ordinary_ms_p99_during": during,
        "ordinary_p99_ratio": during / before,
        "ordinary_has_own_capacity": float(own),
    }


def show(played: list[Played], direct: Played, figures: dict[str, float]) -> None:
    """Print the tables."""
    row = "{:>10} {:>6} {:>7} {:>6} {:>8} {:>6} {:>9} {:>12} {:>9} {:>8}"
    print(
        row.format(
            *("sale", "stock", "orders", "lost", "batches", "late", "forms", "answered s"),
            *("p50 ms", "p99 ms"),
        )
    )
    for one in (*played, direct):
        print(
            row.format(
                *(one.item, one.stock, len(one.orders), one.lost, one.transactions),
                *(one.late_transactions, one.forms, f"{one.told['all_answered_s']:.2f}"),
                *(f"{one.told['wait_ms_p50']:.0f}", f"{one.told['wait_ms_p99']:.0f}"),
            )
        )
    print("\nrequests of the first sale by the layer that answered them:")
    for (layer, outcome), count in sorted(played[0].funnel.items()):
        print(f"  {layer:>8} {outcome:<16} {count:>7}")
    print()
    for name, value in figures.items():
        print(f"{name:<28} {value:>12,.2f}")


if __name__ == "__main__":
    main()
