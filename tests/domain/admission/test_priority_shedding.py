"""Who is refused under overload, for how long, and who never."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.priority_shedding import (
    Load,
    PriorityClass,
    PrioritySheddingPolicy,
    SheddingFacts,
    check_priority_shedding,
    decide,
    level,
    levels,
    next_threshold,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

POLICY = PrioritySheddingPolicy(
    classes=(
        PriorityClass(name="gates", services=("gates",)),
        PriorityClass(name="payment", routes=("pay",)),
    ),
    capacity_rps=100.0,
    target_ms=None,
)
USERS = [f"user-{number}" for number in range(200)]


def asked(user: str, service: str = "shop", now_s: float = 6_000.0) -> Asked:
    request = Request(path="/", source="192.0.2.7")
    return Asked(request=request, now_s=now_s, service=service, user=user)


def arriving(policy: PrioritySheddingPolicy, *requests: Asked) -> list[int]:
    counts = [0] * levels(policy)
    for one in requests:
        counts[level(policy, one)] += 1
    return counts


def test_the_first_class_that_fits_gives_the_rank() -> None:
    gates, others = asked("ann", "gates"), asked("ann")
    assert level(POLICY, gates) // 64 == 0
    assert level(POLICY, replace(others, route="pay")) // 64 == 1
    assert level(POLICY, others) // 64 == 2
    assert level(POLICY, gates) % 64 == level(POLICY, others) % 64
    everything = replace(POLICY, classes=(PriorityClass(name="all"),))
    assert level(everything, others) < 64


def test_at_twice_the_capacity_the_top_class_gets_through_and_the_rest_fills_what_is_left() -> None:
    top = [asked(user, "gates") for user in USERS[:60]]
    rest = [asked(user) for user in USERS[60:]]
    arrivals = arriving(POLICY, *top, *rest)
    threshold = next_threshold(POLICY, math.inf, arrivals, Load(admitted=200, finished=100))
    facts = SheddingFacts(threshold=threshold)
    assert all(decide(POLICY, one, facts) is ADMITTED for one in top)
    through = sum(decide(POLICY, one, facts) is ADMITTED for one in rest)
    assert 30 <= through <= 40


def test_the_same_users_are_refused_within_an_epoch_and_others_in_the_next() -> None:
    facts = SheddingFacts(threshold=150.0)

    def refused(now_s: float) -> set[str]:
        return {
            user for user in USERS if decide(POLICY, asked(user, now_s=now_s), facts) != ADMITTED
        }

    assert refused(6_000.0) == refused(6_060.0) == refused(6_599.0)
    assert refused(6_600.0) != refused(6_000.0)


def test_a_refusal_says_class_and_cohort_and_spreads_the_next_try() -> None:
    answers = [decide(POLICY, asked(user), SheddingFacts(threshold=0.0)) for user in USERS]
    assert {one.verdict for one in answers} == {Verdict.REFUSE}
    assert {one.retry_after_s for one in answers} == {float(number) for number in range(1, 9)}
    assert answers[0].details["class"] == "others"
    first = decide(POLICY, asked("ann", "gates"), SheddingFacts(threshold=0.0))
    assert first.details["class"] == "gates"
    # Nobody says who sends it: all from one address are one cohort.
    unknown = {level(POLICY, replace(asked(""), route=route)) for route in ("a", "b")}
    assert len(unknown) == 1


def test_the_threshold_falls_at_once_and_rises_by_a_part_of_the_way() -> None:
    arrivals = [2] * levels(POLICY)
    assert next_threshold(POLICY, math.inf, arrivals, Load(admitted=384, finished=100)) == 50
    calm = [0] * levels(POLICY)
    load = Load(admitted=0, finished=0)
    risen = [next_threshold(POLICY, 50, calm, load)]
    while risen[-1] < math.inf:
        risen.append(next_threshold(POLICY, risen[-1], calm, load))
    assert risen[:3] == [85, 111, 131]
    assert risen[-3:] == [190, 191, math.inf]
    assert next_threshold(POLICY, math.inf, calm, load) == math.inf


@pytest.mark.parametrize(
    ("load", "threshold"),
    [
        # Too slow: nineteen of twenty that were finished.
        (Load(admitted=384, finished=200, mean_ms=900.0), 95),
        # Well: one of twenty more than came.
        (Load(admitted=200, finished=200, mean_ms=100.0), 105),
        (Load(admitted=0, finished=0, mean_ms=100.0), 0),
        # Nobody knows: the capacity, of which nothing is declared.
        (Load(admitted=200, finished=200), math.inf),
    ],
)
def test_what_an_upstream_bears_is_learned_from_its_times(load: Load, threshold: float) -> None:
    learned = replace(POLICY, capacity_rps=None, target_ms=500.0)
    assert next_threshold(learned, math.inf, [2] * levels(learned), load) == threshold


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"capacity_rps": None}, "neither capacity_rps nor target_ms"),
        ({"capacity_rps": 0.0}, "capacity_rps is 0.0"),
        ({"target_ms": math.nan}, "target_ms is nan"),
        ({"window_s": 0.0}, "window_s is 0.0"),
        ({"epoch_s": 1.0}, "epoch_s is 1.0: give 60.0..86400.0"),
        ({"status": 500}, "status is 500"),
        ({"classes": (PriorityClass(name="a"),) * 2}, "classes has 2"),
    ],
)
def test_what_cannot_be_carried_out_says_which_limit(values: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=f"priority_shedding: {words}"):
        check_priority_shedding(replace(POLICY, **values))  # type: ignore[arg-type]


def test_what_can_be_carried_out() -> None:
    check_priority_shedding(POLICY)
    check_priority_shedding(PrioritySheddingPolicy(status=429))
