from dataclasses import replace

import pytest

from controlplane.domain.suspicion.doubt import Doubt, observed
from controlplane.domain.suspicion.metrics import same_readings, stopped
from controlplane.domain.telemetry import Sample
from tests.domain.suspicion.feeding import Feed, wobbling
from tests.domain.two_centers import NOW_S, PERIOD_S

ALPHA = "alpha"


def _only(datacenter: str, **values: float | None) -> object:
    """Changes the readings of one centre."""
    return lambda s: replace(s, **values) if s.datacenter == datacenter else s


def _times(datacenter: str, factor: float, *names: str) -> object:
    def change(sample: Sample) -> Sample:
        if sample.datacenter != datacenter:
            return sample
        return replace(sample, **{name: getattr(sample, name) * factor for name in names})

    return change


def _settled() -> Feed:
    feed = Feed()
    assert feed.run(range(20)) == []
    return feed


@pytest.mark.parametrize("name", ["request_rate_rps", "response_time_ms"])
@pytest.mark.parametrize("factor", [100.0, 1 / 100])
def test_a_jump_is_doubted_at_once_and_trusted_again_at_once(name: str, factor: float) -> None:
    feed = _settled()
    codes = feed.run(range(20, 23), _times(ALPHA, factor, name))
    assert codes == ["metrics_jumped"] * 3
    newest = feed.window.latest(ALPHA)
    assert newest is not None
    assert newest.time_s == NOW_S + 19 * PERIOD_S
    assert feed.run(range(23, 25)) == []


def test_a_jump_says_what_and_how_much() -> None:
    feed = _settled()
    (doubt,) = feed.take(replace(wobbling(20)[0], request_rate_rps=4_000.0))
    assert doubt.doubt is Doubt.JUMPED
    assert "request_rate_rps is 4000, the median of its last samples 40" in doubt.message
    finding = observed("tickets", doubt)
    assert finding.subject == "service/tickets datacenter/alpha"
    assert finding.held
    assert "findings force" in finding.force


def test_bandwidth_stands_in_for_a_missing_rate() -> None:
    feed = Feed()
    assert feed.run(range(20), _only(ALPHA, request_rate_rps=None)) == []
    sample = replace(wobbling(20)[0], request_rate_rps=None, ingress_bandwidth_bps=32_000_000.0)
    assert [one.doubt for one in feed.take(sample)] == [Doubt.JUMPED]


def test_a_sender_that_begins_to_send_rates_has_no_median_of_them_yet() -> None:
    feed = Feed()
    assert feed.run(range(20), _only(ALPHA, request_rate_rps=None)) == []
    assert feed.run(range(20, 25)) == []


def test_a_busy_cpu_makes_an_overload_credible() -> None:
    feed = _settled()
    hot = replace(wobbling(20)[0], response_time_ms=5_000.0, cpu_avg=0.99)
    assert feed.take(hot) == ()


def test_the_end_of_an_overload_is_credible_too() -> None:
    feed = Feed()
    busy = {"response_time_ms": 5_000.0, "cpu_avg": 0.97}
    feed.run(range(20), lambda s: replace(s, **busy, cpu_max=0.98 + s.load / 1e6))
    assert feed.run(range(20, 25)) == []


def test_requests_in_flight_make_long_answers_credible() -> None:
    slow = replace(wobbling(20)[0], request_rate_rps=40.0, response_time_ms=5_000.0)
    assert _settled().take(replace(slow, inflight=210.0)) == ()
    assert _settled().take(replace(slow, inflight=3.0)) != ()
    by_bandwidth = replace(slow, inflight=210.0, request_rate_rps=None)
    assert _settled().take(by_bandwidth) != ()


def test_load_that_fails_over_is_credible_on_both_sides() -> None:
    feed = Feed(shares={"alpha": 0.96, "beta": 0.04})
    assert feed.run(range(20)) == []
    alpha, beta = wobbling(20, (0.0, 1.0))
    # Until the load shows elsewhere its loss here is doubted, and no longer.
    assert [one.doubt for one in feed.take(alpha)] == [Doubt.JUMPED]
    assert feed.take(replace(beta, cpu_avg=0.7, response_time_ms=90.0)) == ()
    alpha, _ = wobbling(21, (0.0, 1.0))
    assert feed.take(alpha) == ()


def test_an_idle_service_may_do_as_it_likes() -> None:
    feed = Feed()
    idle = {"request_rate_rps": 0.01, "response_time_ms": 2.0}
    assert feed.run(range(20), lambda s: replace(s, **idle)) == []
    busier = {"request_rate_rps": 1.0, "response_time_ms": 90.0}
    assert feed.run(range(20, 22), lambda s: replace(s, **busier)) == []


def test_little_history_judges_nothing() -> None:
    feed = Feed()
    assert feed.run(range(4)) == []
    assert feed.run(range(4, 5), _times(ALPHA, 100.0, "request_rate_rps")) == []


def test_a_level_that_stays_for_the_window_becomes_the_truth() -> None:
    feed = _settled()
    codes = feed.run(range(20, 90), _times(ALPHA, 100.0, "request_rate_rps"))
    # The fifth of the last trusted samples leaves the window 60 periods after it was taken.
    assert codes == ["metrics_jumped"] * 56
    newest = feed.window.latest(ALPHA)
    assert newest is not None
    assert newest.time_s == NOW_S + 89 * PERIOD_S


def test_old_samples_that_come_late_are_judged_by_what_was_before_them() -> None:
    feed = _settled()
    late = replace(wobbling(2)[0], time_s=NOW_S + 10.5 * PERIOD_S)
    assert feed.take(late) == ()
    assert feed.take(replace(late, time_s=NOW_S - 1e6, request_rate_rps=0.1)) == ()


def _frozen_run(feed: Feed, periods: int, **values: float | None) -> list[tuple[int, str]]:
    stuck = replace(wobbling(20)[0], **values)
    found = []
    for period in range(20, 20 + periods):
        time_s = NOW_S + period * PERIOD_S
        doubts = feed.take(replace(stuck, time_s=time_s, received_s=time_s))
        found += [(period, doubt.doubt.value) for doubt in doubts]
        feed.take(wobbling(period)[1])
    return found


def test_frozen_readings_are_doubted_from_the_fourth_on_and_two_before_it() -> None:
    feed = _settled()
    assert _frozen_run(feed, 7) == [(p, "metrics_frozen") for p in (23, 24, 25, 26)]
    newest = feed.window.latest(ALPHA)
    assert newest is not None
    assert newest.time_s == NOW_S + 20 * PERIOD_S
    assert feed.run(range(27, 29)) == []


def test_frozen_needs_load_and_some_readings() -> None:
    assert _frozen_run(_settled(), 9, request_rate_rps=0.0, response_time_ms=0.0) == [
        # A load that vanished is doubted; that it stays there is not.
        (period, "metrics_jumped")
        for period in range(20, 29)
    ]
    bare = dict.fromkeys(("cpu_avg", "cpu_max", "memory", "disk"))
    assert _frozen_run(_settled(), 9, ingress_bandwidth_bps=None, **bare) == []


def test_many_equal_samples_of_one_moment_are_not_frozen() -> None:
    feed = _settled()
    stuck = wobbling(20)[0]
    for tenth in range(10):
        moment = replace(stuck, time_s=stuck.time_s + tenth / 10)
        assert feed.take(moment) == ()


def test_what_is_sent_again_is_not_frozen() -> None:
    feed = _settled()
    for _ in range(9):
        assert feed.take(wobbling(19)[0]) == ()


def test_what_was_suspicious_is_so_when_it_is_sent_again() -> None:
    feed = _settled()
    assert _frozen_run(feed, 4) == [(23, "metrics_frozen")]
    again = replace(wobbling(20)[0], time_s=NOW_S + 23 * PERIOD_S)
    assert [one.doubt for one in feed.take(again)] == [Doubt.FROZEN]
    # Corrected at the same time it is another sample.
    assert feed.take(replace(again, cpu_avg=0.51)) == ()


def test_what_stays_frozen_says_for_how_long() -> None:
    feed = _settled()
    assert _frozen_run(feed, 4) == [(23, "metrics_frozen")]
    time_s = NOW_S + 25 * PERIOD_S
    (frozen,) = feed.take(replace(wobbling(20)[0], time_s=time_s, received_s=time_s))
    assert frozen.message == (
        "all readings of alpha stay exactly equal for 300 s: look at its exporter"
    )


def test_silence_is_told_per_center_after_its_time() -> None:
    received_s = {"beta": NOW_S, "alpha": NOW_S}
    assert stopped(received_s, NOW_S + 120.0, 120.0) == ()
    late = stopped(received_s, NOW_S + 121.0, 120.0)
    assert [one.centers for one in late] == [("alpha",), ("beta",)]
    assert observed("tickets", late[0]).force == ""


def test_readings_are_the_same_only_when_all_are() -> None:
    one = wobbling(0)[0]
    assert same_readings(one, replace(one, time_s=5.0, received_s=6.0))
    assert not same_readings(one, replace(one, disk=None))


def test_a_sender_that_was_never_alive_is_frozen_from_the_fourth_sample_on() -> None:
    feed = Feed()
    assert _frozen_run(feed, 5) == [(23, "metrics_frozen"), (24, "metrics_frozen")]
