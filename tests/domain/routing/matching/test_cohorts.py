"""Cohorts by numbers, and by the regular expression that data planes compare."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.routing.matching.cohorts import (
    NUMBERS,
    bounds,
    contains,
    expression,
    number,
)
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import WHOLE, Cohort, CohortKey

PARTS = st.integers(0, WHOLE)


@settings(deadline=None)
@given(PARTS, PARTS, st.integers(0, NUMBERS - 1))
def test_the_expression_matches_exactly_the_numbers_within(
    one: int, other: int, drawn: int
) -> None:
    cohort = Cohort(low=min(one, other), high=max(one, other))
    written = expression(cohort)
    edges = [edge + step for edge in bounds(cohort) for step in (-1, 0, 1)]
    for value in (drawn, *(edge for edge in edges if 0 <= edge < NUMBERS)):
        within = cohort.low <= value * WHOLE / NUMBERS < cohort.high
        matched = bool(written) and re.fullmatch(written, f"{value:04x}") is not None
        assert matched == within, (cohort, value)


def test_a_larger_cohort_contains_the_smaller_one_and_all_contain_everyone() -> None:
    small, large = Cohort(high=500), Cohort(high=2_000)
    assert bounds(small)[1] <= bounds(large)[1]
    assert bounds(Cohort()) == (0, NUMBERS)
    assert re.fullmatch(expression(Cohort()), "fFfF")


def test_a_twentieth_is_a_twentieth() -> None:
    low, high = bounds(Cohort(high=500))
    assert (high - low) / NUMBERS == pytest.approx(0.05, abs=0.0001)


@pytest.mark.parametrize(
    ("identifier", "value"),
    [("0000", 0), ("ffffabc", 65_535), ("FFFF", 65_535), ("0c", None), ("", None), ("zzzz", None)],
)
def test_the_number_is_the_first_four_digits(identifier: str, value: int | None) -> None:
    assert number(identifier) == value


def test_who_has_no_id_is_in_no_part() -> None:
    nobody = Request(path="/")
    assert contains(Cohort(), nobody)
    assert not contains(Cohort(high=9_999), nobody)
    assert not contains(Cohort(by=CohortKey.REQUEST, low=1), nobody)
    assert contains(Cohort(high=1), Request(path="/", headers={"cookie": "signalbox_sid=0001x"}))
    named = Request(path="/", headers={"x-request-id": "ffff-1"})
    assert contains(Cohort(by=CohortKey.REQUEST, low=9_999), named)
    assert not contains(Cohort(low=9_999), named)
