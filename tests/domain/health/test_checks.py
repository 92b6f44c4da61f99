"""Thresholds, hysteresis and damping of one observer's probes."""

import random
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from controlplane.domain.health.checks import (
    MOST_PASSES,
    NEW,
    Checked,
    Result,
    Verdict,
    after,
    doubtful,
    least_results,
    passes_needed,
)
from controlplane.domain.services import HealthCheck

CHECK = HealthCheck()
PROBES = 240
H, U = Verdict.HEALTHY, Verdict.UNHEALTHY


def probed(results: Iterable[bool], checked: Checked = NEW, start_s: float = 0.0) -> list[Checked]:
    """The endpoint after each result, one in each interval."""
    found = []
    for number, passed in enumerate(results):
        at_s = start_s + number * CHECK.interval_ms / 1_000
        words = "" if passed else "refused"
        checked = after(checked, Result(passed=passed, at_s=at_s, words=words), CHECK)
        found.append(checked)
    return found


def changes(results: Iterable[bool]) -> int:
    """Changes of the verdict of a target that was healthy before."""
    verdicts = [H, *(one.verdict for one in probed(results, probed([True])[-1], start_s=1.0))]
    return sum(a is not b for a, b in pairwise(verdicts))


def test_the_first_pass_is_enough_and_a_single_failure_is_not() -> None:
    assert [one.verdict for one in probed([True, False, True])] == [H, H, H]
    assert [one.verdict for one in probed([False, False])] == [Verdict.UNKNOWN, U]


def test_a_failure_against_the_verdict_is_doubted_and_told() -> None:
    good, bad = probed([True, False])
    assert (doubtful(good), doubtful(bad)) == (False, True)
    assert (good.words, bad.words) == ("", "refused")
    assert not doubtful(probed([False, False])[-1])


def test_a_clean_outage_ends_after_the_declared_threshold() -> None:
    out = probed([True, *[False] * 40])
    assert out[2].verdict is U
    back = probed([True, True, True], out[-1], start_s=11.0)
    assert [one.verdict for one in back] == [U, H, H]
    assert not back[-1].flapping


def test_it_is_out_for_some_results_at_least() -> None:
    found = probed([True, False, False, *[True] * 20])
    first = next(i for i, one in enumerate(found) if i > 2 and one.verdict is H)
    assert first - 2 == least_results(CHECK) == 16
    assert least_results(HealthCheck(interval_ms=5_000)) == 2


def test_each_flap_needs_more_passes_until_it_fades() -> None:
    needed = [passes_needed(flaps, CHECK) for flaps in (0, 1, 2, 3, 5, 9, 1e6)]
    assert needed == [2, 2, 8, 32, MOST_PASSES, MOST_PASSES, MOST_PASSES]
    strict = HealthCheck(healthy_threshold=100)
    assert passes_needed(9.0, strict) == 100
    flapping = probed([True, False] * 10)[-1]
    assert flapping.flapping
    calm = probed([True] * 480, flapping, start_s=5.0)
    assert not calm[-1].flapping


@pytest.mark.parametrize(
    "passes",
    [
        lambda n: n % 3 != 0,
        lambda n: n % 3 == 0,
        lambda n: n % 2 == 0,
        lambda n: n % 6 < 3,
    ],
    ids=["one-in-three-fails", "one-in-three-passes", "every-other", "three-and-three"],
)
def test_a_flapping_target_changes_once_in_a_minute(passes: Callable[[int], bool]) -> None:
    assert changes(map(passes, range(PROBES))) <= 1


@pytest.mark.parametrize("passing", [1 / 3, 2 / 3], ids=["a-third-passes", "a-third-fails"])
def test_chance_brings_a_flapping_target_back_hardly_ever(passing: float) -> None:
    seeds = 40
    often = 0
    for seed in range(seeds):
        rng = random.Random(seed)
        often += changes(rng.random() < passing for _ in range(PROBES)) > 1
    assert often <= 1
