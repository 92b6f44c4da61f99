"""Models that are wrong on purpose are wrong in the way that they say."""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain.features import FEATURE_NAMES
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.queue_law import response_time_ms
from tests.training.backtest.playing import W1
from training.backtest.adversaries import (
    ASKING,
    CONSTANT_MS,
    LEAST_MS,
    MIDDLE,
    MOST_MS,
    Kind,
    Ordeal,
    bad_model,
    ordeals,
    vs_rule_pct,
)

CALM, BUSY = 0.3, 0.8


def said(kind: Kind, utilization: float) -> float:
    """What the first center's law of a bad model says."""
    return float(response_time_ms(bad_model(W1, kind, 0).laws[0], utilization))


def test_an_inverted_law_is_right_in_the_middle_and_falls_where_the_truth_rises() -> None:
    true = [float(response_time_ms(W1.primary.law, at)) for at in (CALM, MIDDLE, BUSY)]
    told = [said(Kind.INVERTED, at) for at in (CALM, MIDDLE, BUSY)]
    assert told[1] == pytest.approx(true[1])
    assert told == pytest.approx([2 * true[1] - one for one in true])


def test_a_constant_says_one_thing_and_nan_nothing() -> None:
    assert said(Kind.CONSTANT, CALM) == said(Kind.CONSTANT, BUSY) == CONSTANT_MS
    assert np.isnan(said(Kind.NAN, CALM))


def test_a_random_law_is_that_of_its_draw() -> None:
    first, again, other = (bad_model(W1, Kind.RANDOM, draw) for draw in (1, 1, 2))
    assert first.laws == again.laws != other.laws
    assert first.digest == other.digest


@pytest.mark.parametrize("kind", Kind)
def test_the_network_says_what_its_kind_says(kind: Kind) -> None:
    rows = np.full((3, len(FEATURE_NAMES)), 0.5)
    rows[:, FEATURE_NAMES.index("primary.cpu_avg")] = (0.3, 0.5, 0.7)
    network = bad_model(W1, kind, 0).network
    assert network is not None
    answers = network(rows)
    assert answers.shape == (3,)
    if kind is Kind.NAN:
        assert np.isnan(answers).all()
    elif kind is Kind.CONSTANT:
        assert answers == pytest.approx(CONSTANT_MS)
    elif kind is Kind.INVERTED:
        assert (np.diff(answers) < 0).all()
    else:
        assert ((answers >= LEAST_MS) & (answers <= MOST_MS)).all()
        assert np.array_equal(answers, network(rows))


DAY = Ordeal(
    world="W1",
    seed=0,
    strategy=StrategyName.HYBRID,
    kind=Kind.NAN,
    mean_ms=102.0,
    rules_ms=(100.0, 120.0),
    fallback_ms=100.0,
    demoted_after=3,
    reason="no answer",
    overload_minutes=0,
    violations=(),
)


def test_it_is_held_against_the_rule_that_is_better_over_all_seeds() -> None:
    other = replace(DAY, seed=1, mean_ms=108.0, rules_ms=(110.0, 80.0))
    inverted = replace(DAY, kind=Kind.INVERTED, mean_ms=99.0)
    found = vs_rule_pct((DAY, other, inverted))
    # 210 by the first rule, 200 by the second.
    assert found[DAY.case] == pytest.approx(5.0)
    assert found[inverted.case] == pytest.approx(-1.0)


def test_a_day_has_every_kind_for_everyone_who_asks() -> None:
    days = ordeals("W1", (4,))
    assert {day.case for day in days} == {
        ("W1", strategy, kind) for strategy in ASKING for kind in Kind
    }
    assert {day.seed for day in days} == {4}
    assert len({day.rules_ms for day in days}) == 1
    blind = next(d for d in days if d.case == ("W1", StrategyName.HYBRID, Kind.NAN))
    assert blind.demoted_after is not None
    assert blind.demoted_after <= 24
    assert blind.reason
