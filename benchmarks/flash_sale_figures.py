"""What came of sales: figures, and the tables of them.

Used by `benchmarks.flash_sale`.
"""

from dataclasses import dataclass
from typing import Any


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


def sale_figures(played: list[Played], direct: Played) -> dict[str, float]:
    """Figures of all sales together, and of the one with a single item."""
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
