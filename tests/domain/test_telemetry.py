import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.telemetry import (
    LIMITS,
    MOST_KEPT,
    Sample,
    ServiceWindow,
    check,
    extended,
    first_received,
    load_measure,
    reading,
)
from tests.builders import fleet, sample

EMPTY = ServiceWindow(service="tickets")


def test_a_sound_sample_passes() -> None:
    check(sample(), fleet())
    check(sample(request_rate_rps=None, ingress_bandwidth_bps=1e6), fleet())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(LIMITS))
@pytest.mark.parametrize("value", [math.nan, math.inf, -0.001, 1e15])
def test_a_reading_beyond_its_limits_names_the_field(name: str, value: float) -> None:
    with pytest.raises(Invalid, match=name) as caught:
        check(sample(**{name: value}), fleet())
    assert caught.value.code == "sample_value_out_of_range"
    assert caught.value.details == {"field": name}


def test_a_sample_needs_a_time_and_a_load() -> None:
    with pytest.raises(Invalid, match="time"):
        check(sample(time_s=math.nan), fleet())
    with pytest.raises(Invalid) as caught:
        check(sample(request_rate_rps=None), fleet())  # type: ignore[arg-type]
    assert caught.value.code == "sample_without_load"


def test_a_sample_of_an_undeclared_center_is_not_found() -> None:
    with pytest.raises(NotFound):
        check(sample(datacenter="moon"), fleet())


def test_load_is_the_rate_else_bandwidth_else_unknown() -> None:
    assert sample(request_rate_rps=5.0, ingress_bandwidth_bps=9.0).load == 5.0
    assert sample(request_rate_rps=None, ingress_bandwidth_bps=9.0).load == 9.0  # type: ignore[arg-type]
    assert math.isnan(sample(request_rate_rps=None).load)  # type: ignore[arg-type]


def test_one_center_without_a_rate_makes_all_be_read_by_bandwidth() -> None:
    rated = sample(request_rate_rps=5.0, ingress_bandwidth_bps=8e6)
    bare = sample(request_rate_rps=None, ingress_bandwidth_bps=2e6)  # type: ignore[arg-type]
    assert load_measure([rated, rated]) == "request_rate_rps"
    assert load_measure([rated, bare]) == "ingress_bandwidth_bps"
    assert math.isnan(reading(bare, "request_rate_rps"))
    window = extended(EMPTY, [rated, replaced(bare, "beijing-2")], keep_s=60)
    assert window.shares() == {"beijing-1": 0.8, "beijing-2": 0.2}


def replaced(found: Sample, datacenter: str) -> Sample:
    return sample(
        datacenter=datacenter,
        request_rate_rps=found.request_rate_rps,  # type: ignore[arg-type]
        ingress_bandwidth_bps=found.ingress_bandwidth_bps,  # type: ignore[arg-type]
    )


def test_an_empty_window_knows_nothing() -> None:
    assert EMPTY.latest("beijing-1") is None
    assert EMPTY.age_s("beijing-1", 100.0) == math.inf
    assert EMPTY.recent("beijing-1", 0.0) == ()
    assert EMPTY.shares() == {}


def test_shares_are_unknown_without_a_sum() -> None:
    window = extended(EMPTY, [sample(request_rate_rps=0.0)], keep_s=60)
    assert window.shares() == {}
    assert extended(EMPTY, [sample(request_rate_rps=None)], keep_s=60).shares() == {}  # type: ignore[arg-type]


def test_age_and_recent_go_by_receipt() -> None:
    window = extended(
        EMPTY, [sample(time_s=10, received_s=100.0), sample(time_s=70, received_s=160.0)], 3600
    )
    assert window.age_s("beijing-1", 200.0) == 40.0
    assert [s.time_s for s in window.recent("beijing-1", 160.0)] == [70]


def test_the_same_time_replaces_and_old_ones_go() -> None:
    window = extended(EMPTY, [sample(time_s=t) for t in (300, 0, 60, 120)], keep_s=240)
    window = extended(window, [sample(time_s=120, cpu_avg=0.9)], keep_s=240)
    times = [(s.time_s, s.cpu_avg) for s in window.samples["beijing-1"]]
    assert times == [(60, 0.5), (120, 0.9), (300, 0.5)]


def test_a_clock_that_ran_ahead_hides_nothing_that_comes_later() -> None:
    window = extended(EMPTY, [sample(time_s=1290, received_s=1000.0)], keep_s=3600)
    window = extended(window, [sample(time_s=1060, received_s=1060.0, cpu_avg=0.9)], keep_s=3600)
    newest = window.latest("beijing-1")
    assert newest is not None
    assert newest.cpu_avg == 0.9
    assert window.age_s("beijing-1", 1061.0) == 1.0
    assert len(window.samples["beijing-1"]) == 2


def test_the_silence_of_one_center_keeps_its_history() -> None:
    window = extended(EMPTY, [sample(time_s=0), sample("beijing-2", time_s=0)], keep_s=60)
    window = extended(window, [sample("beijing-2", time_s=10_000)], keep_s=60)
    assert [s.time_s for s in window.samples["beijing-1"]] == [0]
    assert [s.time_s for s in window.samples["beijing-2"]] == [10_000]


@given(st.permutations(list(range(8))))
def test_the_order_of_arrival_does_not_show(order: list[int]) -> None:
    samples = [sample(f"beijing-{1 + i % 2}", time_s=60.0 * i) for i in range(8)]
    expected = extended(EMPTY, samples, keep_s=3600)
    assert extended(EMPTY, [samples[i] for i in order], keep_s=3600) == expected
    one_by_one = EMPTY
    for i in order:
        one_by_one = extended(one_by_one, [samples[i]], keep_s=3600)
    assert one_by_one == expected


def test_a_sample_sent_again_keeps_its_first_receipt() -> None:
    earlier = [sample(time_s=60, received_s=61.0), sample("beijing-2", time_s=120, received_s=121)]
    again = sample(time_s=60, received_s=500.0, cpu_avg=0.9)
    assert first_received(earlier, again) == sample(time_s=60, received_s=61.0, cpu_avg=0.9)
    other = sample(time_s=120, received_s=500.0)
    assert first_received(earlier, other) == other


def test_a_window_keeps_so_many_samples_whatever_their_order() -> None:
    times = [1000.0 + index for index in range(MOST_KEPT + 200)]
    late_first = [*reversed(times[:300]), *times[300:]]
    for order in (times, late_first, [*times[100:], *times[:100]]):
        window = ServiceWindow(service="tickets")
        for time_s in order:
            one = replace(sample("beijing-1", time_s), received_s=5_000.0)
            window = extended(window, (one,), 3_600.0)
        kept = [one.time_s for one in window.samples["beijing-1"]]
        assert kept == times[-MOST_KEPT:]


def test_a_sample_that_is_sent_again_among_late_ones_is_replaced() -> None:
    window = ServiceWindow(service="tickets")
    for time_s, cpu in ((1.0, 0.1), (3.0, 0.3), (2.0, 0.2), (3.0, 0.9), (1.0, 0.8), (4.0, 0.4)):
        window = extended(window, (sample("beijing-1", time_s, cpu_avg=cpu),), 3_600.0)
    kept = [(one.time_s, one.cpu_avg) for one in window.samples["beijing-1"]]
    assert kept == [(1.0, 0.8), (2.0, 0.2), (3.0, 0.9), (4.0, 0.4)]


def test_a_sample_received_while_our_clock_was_set_back_stands_where_it_was_true() -> None:
    window = ServiceWindow(service="tickets")
    for time_s, received_s in ((1_000.0, 1_000.0), (1_200.0, 900.0)):
        one = replace(sample("beijing-1", time_s), received_s=received_s)
        window = extended(window, (one,), 3_600.0)
    assert [one.time_s for one in window.samples["beijing-1"]] == [1_200.0, 1_000.0]
