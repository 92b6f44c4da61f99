from dataclasses import replace

from controlplane.domain.suspicion.doubt import Doubt
from controlplane.domain.suspicion.exchange import shares_exchanged
from tests.domain.suspicion.feeding import Feed, exchanged, wobbling
from tests.domain.two_centers import NOW_S, PERIOD_S

UNEQUAL = {"alpha": 0.6, "beta": 0.4}


def test_exchanged_centers_are_doubted_until_they_are_themselves_again() -> None:
    feed = Feed()
    assert feed.run(range(20)) == []
    codes = feed.run(range(20, 25), exchanged)
    # The first half of an exchange is no proof; the second one takes it back.
    assert codes == ["metrics_swapped"] * 9
    for name in ("alpha", "beta"):
        newest = feed.window.latest(name)
        assert newest is not None
        assert newest.time_s == NOW_S + 19 * PERIOD_S
    assert feed.run(range(25, 30)) == []


def test_an_exchange_names_both_and_only_once() -> None:
    feed = Feed()
    feed.run(range(20))
    beta, alpha = (exchanged(sample) for sample in wobbling(20))
    assert feed.take(beta) == ()
    (doubt,) = feed.take(alpha)
    assert (doubt.doubt, doubt.centers) == (Doubt.SWAPPED, ("alpha", "beta"))
    assert doubt.also == (beta,)


def test_equal_centers_never_trip() -> None:
    feed = Feed(shares={"alpha": 0.5, "beta": 0.5})

    def alike(sample: object) -> object:
        return replace(sample, cpu_avg=0.5, response_time_ms=50.0, cpu_max=0.5)  # type: ignore[type-var]

    assert feed.run(range(20), alike) == []  # type: ignore[arg-type]
    assert feed.run(range(20, 40), lambda s: exchanged(alike(s))) == []  # type: ignore[arg-type]


def test_a_move_of_the_traffic_between_like_centers_is_no_exchange() -> None:
    feed = Feed(shares=UNEQUAL)

    def even(sample: object) -> object:
        rate = sample.request_rate_rps  # type: ignore[attr-defined]
        return replace(sample, response_time_ms=40 + rate, cpu_avg=rate / 100, cpu_max=rate / 99)  # type: ignore[type-var]

    assert feed.run(range(20), even) == []  # type: ignore[arg-type]
    feed.shares = {"alpha": 0.4, "beta": 0.6}
    feed.moved_s = NOW_S + 20 * PERIOD_S
    assert feed.run(range(20, 30), even) == []  # type: ignore[arg-type]
    assert feed.run(range(30, 32), lambda s: exchanged(even(s)))  # type: ignore[arg-type]


def test_readings_apart_in_time_or_too_few_prove_nothing() -> None:
    feed = Feed()
    feed.run(range(20))
    beta, _ = (exchanged(sample) for sample in wobbling(20))
    _, alpha = (exchanged(sample) for sample in wobbling(23))
    assert feed.take(beta) == ()
    assert feed.take(alpha) == ()
    bare = dict.fromkeys(("cpu_avg", "memory", "disk", "ingress_bandwidth_bps"))
    feed = Feed(shares={})
    assert feed.run(range(4)) == []
    assert feed.run(range(4, 9), lambda s: exchanged(replace(s, **bare))) == []


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
    feed.moved_s = NOW_S + 5 * PERIOD_S
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed.moved_s = 0.0
    feed.shares = {"alpha": 0.54, "beta": 0.46}
    assert shares_exchanged(feed.past, feed.limits) == ()
    feed.shares = {"alpha": 1.0}
    assert shares_exchanged(feed.past, feed.limits) == ()


def test_shares_accuse_nobody_without_load() -> None:
    feed = Feed(shares=UNEQUAL)
    feed.run(range(8), lambda s: replace(s, request_rate_rps=0.0))
    assert shares_exchanged(feed.past, feed.limits) == ()
    assert shares_exchanged(Feed(shares={}).past, feed.limits) == ()
