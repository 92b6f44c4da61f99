"""A played plan without a simulation."""

from dataclasses import replace

import numpy as np

from training.backtest.reference import labels
from training.backtest.scores import Score, Summary
from training.backtest.tournament import Plan, Played

PLAN = Plan(contestants=("hybrid", "paper_mlp:bare"), worlds=("W1", "W3"), days=4, seeds=1)
EVERYONE = (*labels(), *PLAN.contestants)
SCORE = Score(
    world="W1",
    label="hybrid",
    seeds=1,
    days=4,
    mean_ms=61.25,
    requests_rps=210.0,
    saturation_rps=None,
    vs_static_pct=-8.5,
    vs_best_static_pct=-1.5,
    regret_pct=1.25,
    regret_sd=0.2,
    limited_regret_pct=1.0,
    gain_share=0.91,
    changes_per_day=7.5,
    variation_per_day=0.3,
    overload_minutes_14d=2.0,
    worst_day_vs_static_pct=0.4,
    violations=0,
    own_pct=99.5,
    demotions=0,
    coverage=0.9,
)


def summary(label: str) -> Summary:
    return Summary(
        label=label,
        seed=0,
        daily_cost=np.ones(4),
        daily_requests=np.ones(4),
        overload_minutes=0,
        path=np.linspace(0.4, 0.6, 4 * 288),
    )


def played() -> Played:
    """Every contestant with the same figures; the bare one ruins the site."""
    scores = [
        replace(
            SCORE,
            world=world,
            label=label,
            coverage=None if label.endswith("bare") else SCORE.coverage,
            regret_pct=312.5 if label.endswith("bare") else SCORE.regret_pct,
        )
        for world in PLAN.worlds
        for label in EVERYONE
    ]
    runs = {world: tuple(summary(label) for label in EVERYONE) for world in PLAN.worlds}
    return Played(scores=tuple(scores), runs=runs, sources_digest="5d" * 32)
