import json
from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain.canonical import decode, encode
from controlplane.domain.decisions import Decision, split_of
from controlplane.domain.services import StrategyName
from controlplane.domain.uncertainty import Calibration
from tests.domain.decided import EVERYWHERE, RATIO, decided
from tests.domain.two_centers import law_model


def test_a_decision_comes_back_whole_and_explains_itself() -> None:
    decision = decided(law_model())
    back = decode(Decision, encode(decision))
    assert back == decision
    assert len(back.curve) == 61
    split = split_of(back)
    assert (split.time_s, tuple(split.shares.values())) == (back.time_s, back.decided)
    assert [note.code for note in back.notes] == ["residual_missing", "step_limited"]


def test_the_band_is_the_interval_at_every_candidate() -> None:
    def members(x: np.ndarray) -> np.ndarray:
        """Two that agree at a ratio of 0.20 and lie 0.03 apart at 0.80."""
        apart = 0.03 * (x[:, RATIO] - 0.2) / 0.6
        return np.stack([-apart / 2, apart / 2])

    model = law_model(ensemble=members, residual_spread=0.02, **EVERYWHERE)
    decision = decided(model)
    assert decision.interval is not None
    widths = [high / low for low, high in decision.band]
    assert len(widths) == len(decision.spreads) == 61
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(np.exp(2 * decision.interval.quantile * 0.02))
    index = round(100 * decision.decided[0]) - 20
    ends = (decision.interval.low_ms, decision.interval.high_ms)
    assert decision.band[index] == pytest.approx(ends, rel=1e-4)
    assert decision.dither is None


def test_a_law_alone_has_a_band_of_one_width_and_a_rule_has_none() -> None:
    decision = decided(law_model(residual_spread=0.02))
    widths = [high / low for low, high in decision.band]
    assert widths == pytest.approx([widths[0]] * 61)
    assert decided(law_model(), StrategyName.CPU_EQUALIZER).band == ()


def test_a_record_of_before_intervals_reads_as_one_without_them() -> None:
    decision = decided(law_model())
    body = json.loads(encode(decision))
    del body["spreads"], body["support"], body["state"]["calibration"]
    old = decode(Decision, json.dumps(body).encode())
    assert (old.interval, old.dither, old.band) == (None, None, ())
    without = replace(decision.state, calibration=Calibration())
    assert old == replace(decision, state=without, support=())
