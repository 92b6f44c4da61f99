from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain.suspicion.doubt import Doubt
from controlplane.domain.suspicion.past import InForce
from controlplane.domain.suspicion.shares import shares_exchanged
from tests.domain.suspicion.feeding import Feed, exchanged, wobbling
from tests.domain.two_centers import NOW_S, PERIOD_S

UNEQUAL = {"alpha": 0.6, "beta": 0.4}


def test_loads_that_match_the_exchanged_shares_are_doubted() -> None:
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8))
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), exchanged)
    (doubt,) = shares_exchanged(feed.past, feed.limits)
    assert (doubt.doubt, doubt.centers) == (Doubt.SHARES_SWAPPED, ("alpha", "beta"))
    assert "0.40 and 0.60" in doubt.message


def test_shares_accuse_nobody_right_after_a_move_or_when_they_hardly_differ() -> None:
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), exchanged)
    feed.moved_s = NOW_S + 3 * PERIOD_S
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed.moved_s = 0.0
    feed.shares = {"alpha": 0.54, "beta": 0.46}
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed.shares = {"alpha": 1.0}
    assert shares_exchanged(feed.past, feed.limits) == ()


SPLITS = (0.65, 0.62, 0.58)


def _moving(feed: Feed, share: float, periods: range, swapped: bool) -> None:
    """Shares that move before the first of these periods; the loads follow, or their twins do."""
    if periods.start:
        before = InForce(since_s=feed.moved_s, shares=feed.shares)
        feed.earlier = (*feed.earlier, before)
    feed.moved_s = NOW_S + (periods.start - 1) * PERIOD_S + 1.0 if periods.start else 0.0
    feed.shares = {"alpha": share, "beta": 1.0 - share}
    feed.run(periods, exchanged if swapped else lambda one: one)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_service_that_moves_in_every_cycle_is_judged_by_the_shares_of_each_time(
    swapped: bool,
) -> None:
    feed = Feed()
    for number, share in enumerate(SPLITS):
        _moving(feed, share, range(4 * number, 4 * number + 4), swapped)
    doubts = shares_exchanged(feed.past, feed.limits)
    assert [doubt.doubt for doubt in doubts] == ([Doubt.SHARES_SWAPPED] if swapped else [])
    # What was in force before is not known after a restart.
    feed.earlier = ()
    assert shares_exchanged(feed.past, feed.limits) == ()


def test_shares_accuse_nobody_without_load() -> None:
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), lambda s: replace(s, request_rate_rps=0.0))
    assert shares_exchanged(feed.past, feed.limits) == ()
    assert shares_exchanged(Feed(shares={}).past, feed.limits) == ()


def test_shares_accuse_nobody_when_the_times_differ_or_a_rate_is_missing() -> None:
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), exchanged)
    late = tuple(
        replace(one, time_s=one.time_s + 120.0, received_s=one.received_s + 120.0)
        for one in feed.window.samples["alpha"]
    )
    feed.window = replace(feed.window, samples={**feed.window.samples, "alpha": late})
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), lambda s: replace(exchanged(s), request_rate_rps=None))
    assert shares_exchanged(feed.past, feed.limits) == ()


def test_a_failover_that_passes_through_the_exchange_is_none() -> None:
    feed = Feed(shares=UNEQUAL)
    for period in range(20):
        share = max(0.05, 0.6 - 0.05 * period)
        feed.take_all(wobbling(period, (share, 1.0 - share)))
        assert shares_exchanged(feed.past, feed.limits) == ()


@pytest.mark.parametrize("rate_rps", [20.0, 60.0])
def test_chance_accuses_nobody(rate_rps: float) -> None:
    """Few requests in short periods, as in the demo: shares wander far by chance alone."""
    rng = np.random.default_rng(7)
    feed = Feed(shares={"alpha": 0.45, "beta": 0.55}, period_s=2.0, window_s=120.0)
    for period in range(3_000):
        counts = {"alpha": rng.poisson(rate_rps * 0.9), "beta": rng.poisson(rate_rps * 1.1)}
        for one in wobbling(period):
            rate = counts[one.datacenter] / 2.0
            feed.take(
                replace(
                    one,
                    time_s=NOW_S + 2.0 * period,
                    received_s=NOW_S + 2.0 * period,
                    request_rate_rps=float(rate),
                )
            )
        assert shares_exchanged(feed.past, feed.limits) == ()
