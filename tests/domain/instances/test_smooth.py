"""Smooth weighted round robin keeps exact proportions, also while the set changes."""

from collections import Counter
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.instances.smooth import smooth

weights_of = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(1, 30))
some = weights_of.filter(bool)


def chosen(weights: dict[str, int], currents: dict[str, int], times: int) -> list[str]:
    found = []
    for _ in range(times):
        name, currents = smooth(weights, currents)
        found.append(name)
    return found


def test_it_spreads_as_nginx_does() -> None:
    assert "".join(chosen({"a": 5, "b": 1, "c": 1}, {}, 7)) == "aabacaa"


@settings(deadline=None)
@given(some)
def test_a_whole_round_is_exact_and_ends_where_it_began(weights: dict[str, int]) -> None:
    total = sum(weights.values())
    currents: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for _ in range(total):
        name, currents = smooth(weights, currents)
        counts[name] += 1
    assert counts == weights
    assert set(currents.values()) == {0}


@settings(deadline=None)
@given(some)
def test_nobody_is_ever_far_from_its_part(weights: dict[str, int]) -> None:
    total, counts = sum(weights.values()), Counter[str]()
    for number, name in enumerate(chosen(weights, {}, 2 * total), start=1):
        counts[name] += 1
        for one, weight in weights.items():
            assert abs(counts[one] - Fraction(number * weight, total)) < len(weights)


@settings(deadline=None)
@given(some, some, st.integers(0, 60))
def test_changes_leave_the_others_their_turn(
    before: dict[str, int], after: dict[str, int], at: int
) -> None:
    currents: dict[str, int] = {}
    for _ in range(at):
        _, currents = smooth(before, currents)
    kept = {name: value for name, value in currents.items() if name in after}
    total = sum(after.values())
    rounds = chosen(after, currents, 20 * total)
    assert set(rounds) == set(after)
    counts = Counter(rounds[5 * total :])
    # What the old ones had saved up is used up; then each gets its part again.
    slack = len(after) * (1 + sum(map(abs, kept.values())) // total)
    for name, weight in after.items():
        assert abs(counts[name] - 15 * weight) <= slack
