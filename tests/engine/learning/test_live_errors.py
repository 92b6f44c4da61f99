"""Live errors are collected over more than a ledger holds."""

import math

from controlplane.domain.guardrails.ledger import Ledger, Pair
from controlplane.domain.retraining import ERRORS_KEPT
from controlplane.engine.learning.live_errors import LiveErrors


def ledger(*errors: float | None, model: str = "m1", since: int = 0, use: float = 0.5) -> Ledger:
    pairs = tuple(
        Pair(
            time_s=300.0 * (since + at),
            predicted_ms=None if error is None else 100.0 * (1 + error),
            realised_ms=100.0,
            persisted_ms=100.0,
            span=0.1,
            use=use,
        )
        for at, error in enumerate(errors)
    )
    return Ledger(model=model, pairs=pairs)


def test_each_pair_counts_once() -> None:
    errors = LiveErrors()
    assert errors.after("tickets", "m1", 0.0, ledger(0.5, -0.25)) == (0.5, -0.25)
    assert errors.after("tickets", "m1", 0.0, ledger(-0.25, 1.0, since=1)) == (0.5, -0.25, 1.0)
    assert errors.after("video", "m1", 0.0, ledger()) == ()


def test_a_miss_is_infinite_and_a_busy_cycle_counts_half() -> None:
    errors = LiveErrors()
    assert errors.after("tickets", "m1", 0.0, ledger(None, 0.5, use=0.9)) == (math.inf, 0.25)


def test_another_model_and_the_same_one_promoted_again_begin_anew() -> None:
    errors = LiveErrors()
    errors.after("tickets", "m1", 0.0, ledger(0.5))
    assert errors.after("tickets", "m2", 9.0, ledger(0.5)) == ()
    assert errors.after("tickets", "m2", 9.0, ledger(0.25, model="m2")) == (0.25,)
    assert errors.after("tickets", "m2", 99.0, ledger(model="m2")) == ()


def test_a_day_is_kept_and_only_of_declared_services() -> None:
    errors = LiveErrors()
    many = errors.after("tickets", "m1", 0.0, ledger(*[0.5] * (ERRORS_KEPT + 9)))
    assert len(many) == ERRORS_KEPT
    errors.keep({"video"})
    assert errors.after("tickets", "m1", 0.0, ledger()) == ()
