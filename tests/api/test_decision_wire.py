"""Intervals, bands and shifts by chance as the API tells them."""

from dataclasses import replace

import httpx
import pytest

from controlplane.api.forecasts import ForecastsOut, forecasts_of
from controlplane.api.wire.decisions import decision_of, summary_of
from controlplane.domain.dither import Dither
from controlplane.domain.services import StrategyName
from controlplane.domain.uncertainty import Calibration
from tests.api.house import House
from tests.domain.decided import decided
from tests.domain.two_centers import law_model

SHIFT = Dither(block=7, offset=0.02, propensity=0.25, anchor=(0.5, 0.5), shares=(0.52, 0.48))
PAST = Calibration(judged=400, missed=50, misses=tuple(range(200, 229)))


def test_a_curve_has_its_band_and_the_decision_its_interval() -> None:
    out = decision_of(decided(law_model(residual_spread=0.02, ratio_low=0.3, ratio_high=0.7)))
    assert out.interval is not None
    assert out.interval.level == pytest.approx(0.9)
    assert out.interval.low_ms < out.interval.predicted_ms < out.interval.high_ms
    assert len(out.curve) == 61
    for point in out.curve:
        assert point.low_ms is not None
        assert point.high_ms is not None
        assert point.response_time_ms is not None
        assert point.low_ms < point.response_time_ms < point.high_ms
    assert out.support == [0.3, 0.7]
    assert out.dither is None


def test_a_rule_has_neither() -> None:
    out = decision_of(decided(law_model(), StrategyName.CPU_EQUALIZER))
    assert (out.interval, out.curve) == (None, [])


def test_a_record_of_before_has_a_curve_without_a_band() -> None:
    decision = decided(law_model())
    old = replace(decision, state=replace(decision.state, calibration=Calibration()))
    assert {(point.low_ms, point.high_ms) for point in decision_of(old).curve} == {(None, None)}


def test_a_shift_is_told_with_its_propensity() -> None:
    decision = decided(law_model())
    shift = summary_of(replace(decision, state=replace(decision.state, dither=SHIFT))).dither
    assert shift is not None
    assert (shift.block, shift.offset, shift.propensity) == (7, 0.02, 0.25)


def test_coverage_is_of_the_last_day() -> None:
    nothing = ForecastsOut(level=0.9, coverage=None, cycles=0)
    assert forecasts_of(None) == forecasts_of(decided(law_model())) == nothing
    decision = decided(law_model())
    lived = replace(decision, state=replace(decision.state, calibration=PAST))
    assert forecasts_of(lived) == ForecastsOut(level=0.9, coverage=1 - 29 / 288, cycles=288)


async def test_coverage_is_a_metric_and_part_of_a_service(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    await house.tick()
    assert "signalbox_interval_coverage{" not in (await admin.get("/metrics")).text
    made = house.loop.decisions["tickets"]
    lived = replace(made, state=replace(made.state, calibration=PAST))
    house.loop._decisions["tickets"] = lived
    lines = (await admin.get("/metrics")).text.splitlines()
    value = 1 - 29 / 288
    assert f'signalbox_interval_coverage{{of="all"}} {value}' in lines
    assert f'signalbox_interval_coverage{{of="lowest"}} {value}' in lines
    told = (await admin.get("/v1/services/tickets")).json()["forecasts"]
    assert told == {"level": 0.9, "coverage": value, "cycles": 288}
