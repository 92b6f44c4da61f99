"""Issue 7, line 7: overload behind the agent's proxy, by class, by concurrency, and by retries."""

from collections.abc import Callable

from benchmarks.shedding import Size, measure

SHORT = Size(settle_s=2.0, classes_s=2.0, before_s=2.0, after_s=10.0, failing_s=1.0, compares=False)


async def test_overload(record_property: Callable[[str, object], None]) -> None:
    """7. Twice the load: the top class is served, the same users are refused; retries are few."""
    figures = await measure(SHORT)
    for name, figure in figures.items():
        record_property(name, figure)
    assert figures["top_class_success"] >= 0.99
    assert figures["same_cohorts"] >= 0.8
    assert figures["used_of_new_capacity"] >= 0.8
    assert figures["attempts_per_request"] <= 1.2
