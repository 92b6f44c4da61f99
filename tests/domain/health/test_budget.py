"""Who probes how often."""

import pytest

from controlplane.domain.health.budget import (
    ELECTED,
    ProbeBudget,
    ProbeLoad,
    ProbePlan,
    elected,
    plan,
)

BUDGET = ProbeBudget()


def load(endpoints: int, observers: int, per_s: float = 4.0) -> ProbeLoad:
    return ProbeLoad(
        total_per_s=endpoints * per_s,
        fastest_per_s=per_s,
        observers=observers,
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (load(8, 1), ProbePlan(observers=1, stretch=1.0)),
        (load(8, 5), ProbePlan(observers=5, stretch=1.0)),
        # Six observers would be 24/s.
        (load(8, 6), ProbePlan(observers=3, stretch=1.0)),
        # More than 500/s for one prober: elected ones only, as long as they share it.
        (load(200, 9), ProbePlan(observers=3, stretch=1.0)),
        (load(2_000, 3), ProbePlan(observers=3, stretch=16.0)),
        (load(2_000, 0), ProbePlan(observers=0, stretch=1.0)),
        # Checks every 20 ms, by one observer.
        (load(1, 1, per_s=50.0), ProbePlan(observers=1, stretch=2.5)),
        (load(0, 0), ProbePlan(observers=0, stretch=1.0)),
    ],
)
def test_a_plan_keeps_to_every_budget(given: ProbeLoad, expected: ProbePlan) -> None:
    found = plan(given, BUDGET)
    assert found == expected
    per_observer = given.total_per_s * found.observers / max(1, given.observers) / found.stretch
    assert per_observer <= BUDGET.per_prober
    asked = found.observers * given.fastest_per_s / found.stretch
    assert asked <= BUDGET.per_endpoint


def test_election_moves_only_what_it_must() -> None:
    names = [f"o{n}" for n in range(6)]
    before = {f"10.0.0.{n}:80": elected(f"10.0.0.{n}:80", names, ELECTED) for n in range(200)}
    assert {len(found) for found in before.values()} == {ELECTED}
    after = {key: elected(key, names[:-1], ELECTED) for key in before}
    moved = [key for key in before if before[key] != after[key]]
    assert all("o5" in before[key] for key in moved)
    counts = {name: sum(name in found for found in before.values()) for name in names}
    assert min(counts.values()) > 60
    assert elected("x", ["a"], ELECTED) == ("a",)
