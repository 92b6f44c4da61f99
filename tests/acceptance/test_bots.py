"""Issue 7, line 8: bots among shoppers are found, and shoppers are served during a wave of them."""

from collections.abc import Callable

from benchmarks.bots import Size, found, waves
from benchmarks.bots_traffic import Wave

SHORT = Size(seeds=1, turns=1, wave=Wave(clients=400, lasts_s=6.0, haste=8.0))


async def test_bots_get_the_slow_queue(record_property: Callable[[str, object], None]) -> None:
    """8. Labelled traffic with 5 % bots: 95 % of theirs are slow, 0.5 % of shoppers'; a wave."""
    figures = {**found(SHORT.seeds), **await waves(SHORT)}
    for name, figure in figures.items():
        record_property(name, figure)
    assert figures["bot_recall"] >= 0.95
    assert figures["shopper_false_positive"] <= 0.005
    assert figures["shoppers_success_on"] > figures["shoppers_success_off"]
    assert figures["bots_served_by_shop_on"] < figures["bots_served_by_shop_off"]
