"""A model's trial in the shadow."""

from dataclasses import replace

import pytest

from controlplane.domain.guardrails.ledger import Ledger
from controlplane.domain.guardrails.trial import Standing, Trial, assessed, continued
from tests.domain.guardrails.drafting import LIMITS, valley
from tests.domain.guardrails.test_skill import MODEL, facts, ledger, pair
from tests.domain.two_centers import CYCLE_S, Load, history

NOBODY = Ledger()


def trial(error: float, persistence: float = 0.01, count: int = 12) -> Trial:
    return Trial(model="m1", ledger=ledger(*[pair(error, persistence)] * count))


@pytest.mark.parametrize(
    ("own", "champion", "standing"),
    [
        (trial(0.01, count=11), NOBODY, Standing.RUNNING),
        (trial(0.01), NOBODY, Standing.PASSED),
        (trial(0.04), NOBODY, Standing.PASSED),
        (trial(0.2), NOBODY, Standing.FAILED),
        (trial(0.2, persistence=0.3), NOBODY, Standing.PASSED),
        (trial(0.024), ledger(*[pair(0.02)] * 12), Standing.PASSED),
        (trial(0.026), ledger(*[pair(0.02)] * 12), Standing.FAILED),
        (trial(0.026), ledger(*[pair(0.02)] * 11), Standing.PASSED),
        (trial(0.04), ledger(*[pair(0.3)] * 12), Standing.PASSED),
    ],
    ids=[
        "too few cycles",
        "as good as persistence",
        "within its error in training",
        "bad",
        "better than persistence",
        "as good as the champion",
        "worse than the champion",
        "a champion that is new is no measure",
        "better than a champion that drifted",
    ],
)
def test_how_a_trial_stands(own: Trial, champion: Ledger, standing: Standing) -> None:
    found = assessed(own, MODEL, champion, LIMITS)
    assert found.standing is standing
    assert found.words


def test_a_trial_forecasts_for_the_shares_that_the_live_decision_puts_in_force() -> None:
    first = continued(Trial(), facts(), valley(0.60), (0.5, 0.5), 12)
    assert (first.model, first.strategy, first.proposed) == ("m1", "model", (0.60, 0.40))
    assert first.ledger.pending is not None
    assert first.ledger.pending.shares == (0.5, 0.5)
    later = facts()
    later = replace(
        later,
        now_s=later.now_s + CYCLE_S,
        window=history(Load(total_rps=60.0), (0.5, 0.5), now_s=later.now_s + CYCLE_S),
    )
    second = continued(first, later, valley(0.60), (0.5, 0.5), 12)
    assert len(second.ledger.pairs) == 1


def test_another_model_in_the_shadow_begins_anew() -> None:
    other = replace(facts(), model=replace(MODEL, digest="m2"))
    found = continued(trial(0.01), other, valley(0.5), (0.5, 0.5), 12)
    assert (found.model, found.ledger.pairs) == ("m2", ())
