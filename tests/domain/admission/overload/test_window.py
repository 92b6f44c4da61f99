"""The sliding count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.admission.overload.window import SLOTS, SlidingCount


def test_what_is_asked_steadily_is_counted_over_the_window() -> None:
    count = SlidingCount(60.0)
    for tenth in range(10_000, 12_000):
        count.add(tenth / 10)
    assert count.count(1_200.0) == pytest.approx(600, abs=10)


def test_all_is_forgotten_after_the_window() -> None:
    count = SlidingCount(60.0)
    count.add(1_000.0, 500)
    assert count.count(1_059.0) == 500
    assert count.count(1_060.5) == 250
    assert count.count(1_061.0) == 0
    count.add(1_061.0, 3)
    assert count.count(9_999.0) == 0


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    count = SlidingCount(60.0)
    count.add(1_000.0, 5)
    count.add(900.0, 2)
    assert count.count(950.0) == 7


@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(1, 100)), max_size=80),
    st.floats(1, 100),
)
def test_it_is_right_to_one_part_of_the_window(
    steps: list[tuple[float, int]], window_s: float
) -> None:
    count, now_s, asked = SlidingCount(window_s), 1_000.0, []
    for pause_s, amount in steps:
        now_s += pause_s
        count.add(now_s, amount)
        asked.append((now_s, amount))
    part_s = window_s / SLOTS
    low = sum(amount for at, amount in asked if at > now_s - window_s + part_s)
    high = sum(amount for at, amount in asked if at > now_s - window_s - part_s)
    assert low - 1e-6 <= count.count(now_s) <= high + 1e-6
