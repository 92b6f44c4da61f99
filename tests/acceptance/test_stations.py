"""S2: 3,111 stations over six regional servers, a new connection for each message."""

from collections.abc import Callable

from benchmarks.stations import PAPER_PER_MINUTE, Size, measure

SHORT = Size(turns=1, speed_s=1.0, busy_s=4.0, calm_s=8.0, fault_s=2.0)


async def test_overflow_and_dead_regions(record_property: Callable[[str, object], None]) -> None:
    """4. Stations over six regional servers: none fails, one overflows and returns, one dies."""
    figures = await measure(SHORT)
    for name, figure in figures.items():
        record_property(name, figure)
    # The figure of the line is that of `python -m benchmarks.stations`, on a machine that is quiet.
    assert figures["connections_per_minute"] > 2 * PAPER_PER_MINUTE
    assert figures["failures"] == figures["overflow_failures"] == 0
    assert figures["killed_failures"] == figures["hung_failures"] == 0
    assert figures["overflow_share"] > 0.2
    assert figures["overflow_returned"] == 1.0
    # It goes once, and comes back once.
    assert figures["overflow_begins"] == 1
