"""The text plot of a decision's curve."""

import math

from hypothesis import given
from hypothesis import strategies as st

from controlplane.cli.curve import POINT, plot

VALLEY = [(0.2 + i / 100, 20 + 100 * (i / 100 - 0.3) ** 2) for i in range(61)]


def test_a_valley_has_its_floor_at_the_smallest_response_time() -> None:
    lines = plot(VALLEY, {"c": 0.5, "x": 0.56}, width=61, height=8)
    assert lines[0].startswith("  29.0 ms |")
    assert lines[7].startswith("  20.0 ms |")
    assert POINT in lines[7]
    floor = lines[7].index("|") + 1 + 30
    assert lines[7][floor] == POINT
    assert lines[9].index("c") == floor
    assert lines[9].index("x") == floor + 6
    assert lines[10].split() == ["0.20", "0.80"]


def test_a_flat_curve_is_drawn_in_the_middle() -> None:
    lines = plot([(0.2, 5.0), (0.8, 5.0)], {}, width=10, height=5)
    assert [POINT in line for line in lines[:5]] == [False, False, True, False, False]


def test_saturation_does_not_flatten_the_valley() -> None:
    lines = plot([(0.2, 900.0), (0.4, 30.0), (0.6, 10.0), (0.8, 20.0)], {}, width=7, height=5)
    assert lines[0] == "  30.0 ms |^ ·"
    assert lines[4] == "  10.0 ms |    ·"


def test_what_cannot_be_drawn_is_nothing() -> None:
    assert plot([], {}) == []
    assert plot([(0.5, 1.0)], {}) == []
    assert plot([(0.5, 1.0), (0.5, 2.0)], {}) == []
    assert plot([(0.2, math.nan), (0.8, math.inf)], {}) == []


def test_a_mark_outside_the_range_is_left_out() -> None:
    assert "x" not in "".join(plot(VALLEY, {"x": 0.95}))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(min_value=0)), max_size=80),
    st.dictionaries(st.sampled_from("abc"), st.floats(0, 1)),
)
def test_every_line_keeps_the_width(
    points: list[tuple[float, float]], marks: dict[str, float]
) -> None:
    for line in plot(points, marks, width=30, height=5)[5:]:
        assert len(line) <= 9 + 2 + 30
