"""The draw of a block: deterministic, fair, and with the probability that is logged."""

from collections import Counter

import pytest

from controlplane.domain.dither import Dither, block_at, propensity, sign_of, undrawn


def test_a_draw_is_the_same_every_time_and_another_for_another_service() -> None:
    mine = [sign_of("tickets", block) for block in range(100)]
    assert mine == [sign_of("tickets", block) for block in range(100)]
    assert mine != [sign_of("orders", block) for block in range(100)]


def test_draws_are_as_frequent_as_their_propensity_says() -> None:
    both = (1, -1)
    seen = Counter(sign_of("tickets", block) for block in range(20_000))
    for sign in (0, *both):
        assert seen[sign] / 20_000 == pytest.approx(propensity(sign, both), abs=0.01)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [((1, -1), (0.5, 0.25, 0.25)), ((1,), (0.75, 0.25, 0.0)), ((), (1.0, 0.0, 0.0))],
)
def test_what_is_not_allowed_ends_at_nothing(
    allowed: tuple[int, ...], expected: tuple[float, float, float]
) -> None:
    assert tuple(propensity(sign, allowed) for sign in (0, 1, -1)) == expected


def test_an_early_cycle_opens_its_block() -> None:
    assert block_at(1799.0, 1800.0, 300.0) == block_at(1800.0, 1800.0, 300.0) == 1
    assert block_at(1700.0, 1800.0, 300.0) == 0
    assert block_at(3599.0, 1800.0, 300.0) == 2


def test_a_shift_that_stays_without_a_draw_says_so() -> None:
    shift = Dither(block=1, offset=0.02, propensity=0.25, anchor=(0.5, 0.5), shares=(0.52, 0.48))
    assert shift.drawn
    assert not undrawn(shift).drawn
