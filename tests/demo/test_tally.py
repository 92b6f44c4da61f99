import pytest

from controlplane.demo.client import Outcome
from controlplane.demo.tally import Tally


def ended(lane: int = 0, sent_s: float = 0.0, done_s: float = 0.1, failure: str = "") -> Outcome:
    return Outcome(
        lane=lane,
        phase=1,
        sent_s=sent_s,
        done_s=done_s,
        datacenter="" if failure else "primary",
        failure=failure,
    )


def test_periods_and_phases_count_apart() -> None:
    tally = Tally(2, late_s=1.0)
    tally.add(ended())
    assert tally.next_period()[0].ok == 1
    tally.add(ended(done_s=0.3))
    tally.add(ended(lane=1, failure="503"))
    period = tally.next_period()
    assert (period[0].ok, period[1].failed, period[1].failures["503"]) == (1, 1, 1)
    phase = tally.phase(1)
    assert phase[0].latencies.mean_s() == pytest.approx(0.2)
    assert phase[0].datacenters == {"primary": 2}
    assert tally.phase(2)[0].ok == 0


def test_an_outage_lasts_until_the_last_failed_or_late_end() -> None:
    tally = Tally(2, late_s=1.0)
    tally.add(ended(sent_s=9.0, done_s=9.9, failure="reset"))
    tally.add(ended(sent_s=10.0, done_s=10.2, failure="reset"))
    tally.add(ended(lane=1, sent_s=9.5, done_s=10.6))
    tally.add(ended(sent_s=12.0, done_s=12.1))
    both = tally.outage(10.0)
    assert (both.failed, both.late, both.reasons) == (1, 1, {"reset": 1})
    assert both.last_bad_after_s == pytest.approx(0.6)
    assert both.slowest_s == pytest.approx(1.1)
    assert tally.outage(10.0, lane=0).last_bad_after_s == pytest.approx(0.2)
    assert tally.outage(11.0).last_bad_after_s == 0.0


def test_quantiles_are_within_a_bucket() -> None:
    tally = Tally(1, late_s=1.0)
    for k in range(1, 1001):
        tally.add(ended(done_s=k / 1000.0))
    times = tally.phase(1)[0].latencies
    assert times.quantile_s(0.5) == pytest.approx(0.5, rel=0.05)
    assert times.quantile_s(0.99) == pytest.approx(0.99, rel=0.05)
