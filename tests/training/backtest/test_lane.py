"""A lane takes in samples and decides as serving does."""

import math

import pytest

from controlplane.domain.telemetry import Sample
from tests.training.backtest.playing import W1, entered
from training.backtest.lane import SERVICE, names
from training.simulation.world import load_world

START_S = W1.arrivals.start_time_s


def sample(center: str, minute: int = 0, **readings: float | None) -> Sample:
    time_s = START_S + 60.0 * minute
    usual = {"response_time_ms": 60.0, "request_rate_rps": 100.0, "cpu_avg": 0.5}
    return Sample(
        datacenter=center, service=SERVICE, time_s=time_s, received_s=time_s, **usual | readings
    )


def test_it_begins_under_the_operators_ratio() -> None:
    lane = entered("hybrid")
    assert lane.applied == W1.operator.shares
    assert [share for _, share in lane.service.static_shares] == list(W1.operator.shares)


def test_the_fleet_declares_capacity_and_nothing_that_a_model_has_to_learn() -> None:
    for center, told in zip(W1.centers, entered("hybrid").centers, strict=True):
        assert told.cluster.capacity_rps == center.capacity_rps
        declared = told.cluster
        assert (declared.servers, declared.idle_cpu, declared.full_cpu) == (None, None, None)


def test_names_are_in_the_order_of_the_centers() -> None:
    assert names(load_world("W1x4")) == ("center-1", "center-2", "center-3", "center-4")


@pytest.mark.parametrize("gone", [{"response_time_ms": math.nan}, {"request_rate_rps": None}])
def test_a_sample_without_response_time_or_load_is_refused(gone: dict[str, float | None]) -> None:
    lane = entered("cpu_equalizer")
    lane.observe([sample("center-1", **gone), sample("center-2")])
    assert set(lane.window.samples) == {"center-2"}


def test_nothing_new_changes_nothing() -> None:
    lane = entered("cpu_equalizer")
    before = lane.window
    lane.observe([])
    assert lane.window is before


def hot(label: str) -> tuple[float, ...]:
    """Shares that it decides on when the primary is far busier."""
    lane = entered(label)
    for minute in range(10):
        busy = sample("center-1", minute, cpu_avg=0.7, response_time_ms=90.0)
        lane.observe([busy, sample("center-2", minute, cpu_avg=0.3)])
    return lane.decide(START_S + 600.0).shares


def test_bare_what_is_proposed_happens_and_else_the_envelope_has_a_say() -> None:
    bare, guarded = hot("cpu_equalizer:bare"), hot("cpu_equalizer")
    assert bare[0] < guarded[0] < W1.operator.shares[0]
    assert guarded[0] == pytest.approx(W1.operator.shares[0] - 0.05)


@pytest.mark.parametrize("label", ["cpu_equalizer", "cpu_equalizer:bare"])
def test_a_verdict_is_the_envelopes(label: str) -> None:
    lane = entered(label)
    lane.observe([sample("center-1"), sample("center-2")])
    decided = lane.decide(START_S)
    assert (decided.verdict is None) is lane.contestant.bare
    assert lane.applied == decided.shares


def test_shares_go_out_in_whole_basis_points() -> None:
    assert all(round(share * 10_000, 6).is_integer() for share in hot("cpu_equalizer:bare"))


def test_a_learned_strategy_without_model_falls_back() -> None:
    lane = entered("hybrid")
    lane.observe([sample("center-1"), sample("center-2")])
    assert lane.decide(START_S).strategy == "observed_laws"


def test_dither_is_the_services() -> None:
    assert entered("hybrid:dither").service.dither
    assert not entered("hybrid").service.dither
