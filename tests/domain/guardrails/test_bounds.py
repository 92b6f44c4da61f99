from dataclasses import replace

import pytest

from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import LIMITS, many, rule, run
from tests.domain.two_centers import Load, codes, situation


def test_the_step_is_limited() -> None:
    verdict = run(rule(0.75, 0.25))
    assert verdict.shares == pytest.approx((0.55, 0.45))
    assert codes(verdict.notes) == ["step_limited"]


def test_two_centers_stay_within_their_bounds() -> None:
    verdict = run(rule(0.95, 0.05), situation(load=Load(total_rps=60.0), applied=(0.78, 0.22)))
    assert verdict.shares == pytest.approx((0.80, 0.20))
    assert codes(verdict.notes) == ["bounded"]


def test_standby_centers_get_nothing_and_may_only_lose() -> None:
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY), (0.5, 0.48, 0.02))
    verdict = run(rule(0.5, 0.3, 0.2), facts)
    assert codes(verdict.notes) == ["bounded", "step_limited"]
    assert verdict.shares[2] < 0.02
    again = run(rule(0.5, 0.3, 0.2), replace(facts, applied=(0.55, 0.44, 0.01)))
    assert again.shares == pytest.approx((0.6, 0.4, 0.0))


def test_more_centers_have_a_lower_floor() -> None:
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY), (0.6, 0.33, 0.07))
    verdict = run(rule(0.62, 0.36, 0.02), facts)
    assert verdict.shares == pytest.approx((0.605, 0.345, 0.05))


def test_a_single_center_keeps_all() -> None:
    facts = many((Role.PRIMARY, Role.CLOUD), (1.0, 0.0))
    verdict = run(rule(0.7, 0.3), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (1.0, 0.0))


def test_automation_evacuates_one_center_at_most() -> None:
    limits = replace(LIMITS, low_of_many=0.0, high=1.0, step=0.10)
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY), (0.92, 0.04, 0.04))
    verdict = run(rule(1.0, 0.0, 0.0), facts, limits=replace(limits, capacity_level=2.0))
    assert verdict.shares == facts.applied
    assert "evacuation_limited" in codes(verdict.notes)
    one = run(rule(0.95, 0.05, 0.0), facts, limits=replace(limits, capacity_level=2.0))
    assert one.shares == pytest.approx((0.95, 0.05, 0.0))
