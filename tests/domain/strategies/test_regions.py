"""Rows of shares follow what becomes of their sum."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.strategies.regions import (
    Row,
    Rows,
    SourceRegion,
    between,
    carried,
    farthest,
    followed,
    in_force,
    summed,
)

CENTERS = 3
PART = st.floats(0.0, 1.0)


def regions(weights: tuple[float, ...], rows: Rows) -> list[SourceRegion]:
    return [
        SourceRegion(name=str(at), weight=weight, home=row, shares=row)
        for at, (weight, row) in enumerate(zip(weights, rows, strict=True))
    ]


@st.composite
def split(draw: st.DrawFn, count: int = CENTERS) -> Row:
    parts = [draw(PART) for _ in range(count)]
    total = sum(parts)
    return tuple(part / total for part in parts) if total > 0 else (1.0, *(0.0,) * (count - 1))


def test_the_sum_weighs_each_row_by_its_traffic() -> None:
    rows = ((1.0, 0.0), (0.0, 1.0))
    assert summed(regions((0.75, 0.25), rows), rows) == (0.75, 0.25)
    assert in_force(regions((0.75, 0.25), rows)) == rows


def test_the_farthest_row_counts() -> None:
    assert farthest(((0.5, 0.5), (1.0, 0.0)), ((0.5, 0.5), (0.8, 0.2))) == pytest.approx(0.2)
    assert farthest((), ()) == 0.0


def test_rows_go_as_far_as_their_sum() -> None:
    start, end = ((1.0, 0.0), (0.0, 1.0)), ((0.6, 0.4), (0.0, 1.0))
    both = regions((0.5, 0.5), start)
    now, proposed = summed(both, start), summed(both, end)
    half = between((now,), (proposed,), 0.5)[0]
    assert followed(start, (now, proposed, proposed), end) == end
    halfway = followed(start, (now, proposed, half), end)
    assert farthest(halfway, between(start, end, 0.5)) < 1e-12


def test_a_sum_that_left_its_way_is_carried_from_center_to_center() -> None:
    start = ((0.9, 0.1, 0.0), (0.0, 1.0, 0.0))
    both = regions((0.5, 0.5), start)
    now = summed(both, start)
    elsewhere = (now[0] - 0.09, now[1], now[2] + 0.09)
    rows = followed(start, (now, (0.2, 0.8, 0.0), elsewhere), start)
    assert rows[0] == pytest.approx((0.72, 0.1, 0.18))
    # Who sends nothing to the centre that loses keeps its row.
    assert rows[1] == pytest.approx((0.0, 1.0, 0.0))


def test_a_sum_that_stays_while_rows_were_asked_to_move_leaves_them() -> None:
    start, end = ((1.0, 0.0), (0.0, 1.0)), ((0.5, 0.5), (0.5, 0.5))
    assert followed(start, ((0.5, 0.5), (0.6, 0.4), (0.5, 0.5)), end) == start
    assert carried(start, (0.5, 0.5), (0.5, 0.5)) == start
    # Proposed is the sum in force, let out is another: there is no way to follow.
    moved = followed(start, ((0.5, 0.5), (0.5, 0.5), (0.4, 0.6)), start)
    assert moved == (pytest.approx((0.8, 0.2)), pytest.approx((0.0, 1.0)))


@given(st.tuples(split(), split()), split(2), split(), PART)
def test_carried_rows_stay_splits_and_sum_up_to_what_goes_out(
    rows: Rows, weights: tuple[float, float], aim: Row, part: float
) -> None:
    found = regions(weights, rows)
    now = summed(found, rows)
    then = between((now,), (aim,), part)[0]
    moved = carried(rows, now, then)
    for row in moved:
        assert math.fsum(row) == pytest.approx(1.0)
        assert all(share >= -1e-12 for share in row)
    assert summed(found, moved) == pytest.approx(then, abs=1e-9)
