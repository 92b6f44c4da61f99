"""Labels of contestants."""

import pytest

from controlplane.domain.errors import Invalid
from controlplane.domain.services import StrategyName
from training.backtest.contestant import contestant


@pytest.mark.parametrize(
    ("label", "strategy", "bare", "dither"),
    [
        ("hybrid", StrategyName.HYBRID, False, False),
        ("hybrid:dither", StrategyName.HYBRID, False, True),
        ("paper_mlp:bare", StrategyName.PAPER_MLP, True, False),
    ],
)
def test_a_label_says_who_and_how(
    label: str, strategy: StrategyName, bare: bool, dither: bool
) -> None:
    who = contestant(label)
    assert (who.label, who.strategy, who.bare, who.dither) == (label, strategy, bare, dither)


@pytest.mark.parametrize(
    ("label", "learned"), [("hybrid", True), ("paper_mlp:bare", True), ("observed_laws", False)]
)
def test_some_ask_a_model(label: str, learned: bool) -> None:
    assert contestant(label).learned is learned


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Invalid, match=r"no strategy 'hybird': use one of .*hybrid") as refused:
        contestant("hybird:bare")
    assert refused.value.code == "contestant_unknown"


@pytest.mark.parametrize(
    "label", ["hybrid:naked", "hybrid:", "hybrid:bare:dither", "hybrid:bare:bare"]
)
def test_options_that_mean_nothing_are_refused(label: str) -> None:
    with pytest.raises(Invalid, match="not both") as refused:
        contestant(label)
    assert refused.value.code == "contestant_invalid"
