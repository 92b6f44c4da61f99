import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.errors import Invalid
from controlplane.domain.units import BASIS_POINTS, to_basis_points

shares = st.dictionaries(
    st.text(min_size=1, max_size=4), st.floats(0.0, 1e6), min_size=1, max_size=8
).filter(lambda found: any(value > 1e-6 for value in found.values()))


@given(shares)
def test_weights_are_integers_that_sum_to_ten_thousand(found: Mapping[str, float]) -> None:
    weights = to_basis_points(found)
    assert sum(weights.values()) == BASIS_POINTS
    assert all(isinstance(weight, int) and weight >= 0 for weight in weights.values())
    total = math.fsum(found.values())
    for name, weight in weights.items():
        assert abs(weight - found[name] / total * BASIS_POINTS) < 1.0


@given(shares)
def test_the_order_of_input_does_not_show(found: Mapping[str, float]) -> None:
    backwards = dict(reversed(found.items()))
    assert list(to_basis_points(found).items()) == list(to_basis_points(backwards).items())


def test_a_zero_share_is_a_zero_weight() -> None:
    assert to_basis_points({"b": 0.0, "a": 0.3}) == {"a": 10_000, "b": 0}


def test_equal_remainders_go_to_the_first_name() -> None:
    assert to_basis_points({"c": 1, "a": 1, "b": 1}) == {"a": 3334, "b": 3333, "c": 3333}


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_share_that_is_no_share_is_named(value: float) -> None:
    with pytest.raises(Invalid, match="bad") as caught:
        to_basis_points({"good": 0.5, "bad": value})
    assert caught.value.code == "share_out_of_range"


@pytest.mark.parametrize("found", [{}, {"a": 0.0, "b": 0.0}])
def test_no_positive_share_is_refused(found: Mapping[str, float]) -> None:
    with pytest.raises(Invalid) as caught:
        to_basis_points(found)
    assert caught.value.code == "no_positive_weight"
