import math
from dataclasses import replace

import pytest

from controlplane.domain.suspicion.doubt import Doubt, observed
from controlplane.domain.telemetry import Sample
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


def test_limits_of_connections_tell_regional_servers_apart() -> None:
    bare = dict.fromkeys(("cpu_avg", "cpu_max", "memory", "disk", "ingress_bandwidth_bps"))

    def regional(sample: Sample) -> Sample:
        limit = {"alpha": 16_000.0, "beta": 6_000.0}[sample.datacenter]
        part = {"alpha": 1.5, "beta": 0.5}[sample.datacenter]
        known = replace(sample, **bare)
        assert known.request_rate_rps is not None
        return replace(
            known,
            response_time_ms=50.0,
            request_rate_rps=known.request_rate_rps * part,
            connection_limit=limit,
        )

    feed = Feed(shares={})
    assert feed.run(range(20), regional) == []
    codes = feed.run(range(20, 25), lambda sample: exchanged(regional(sample)))
    assert set(codes) == {"metrics_swapped"}


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
        return replace(sample, cpu_avg=0.5, response_time_ms=50.0, memory=0.5)  # type: ignore[type-var]

    assert feed.run(range(20), alike) == []  # type: ignore[arg-type]
    assert feed.run(range(20, 40), lambda s: exchanged(alike(s))) == []  # type: ignore[arg-type]


def test_a_move_of_the_traffic_between_like_centers_is_no_exchange() -> None:
    feed = Feed(shares=UNEQUAL)

    def even(sample: object) -> object:
        rate = sample.request_rate_rps  # type: ignore[attr-defined]
        return replace(sample, response_time_ms=40 + rate, cpu_avg=rate / 100, memory=rate / 100)  # type: ignore[type-var]

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


@pytest.mark.parametrize("steep", [False, True])
def test_loads_of_their_own_that_swing_against_each_other_are_no_exchange(steep: bool) -> None:
    """The batch loads of the demo: busy here while idle there, and half a minute later the other
    way round; answers follow, what comes in and what is stored do not."""
    feed = Feed()

    def swinging(period: int) -> list[Sample]:
        wave = 0.35 * math.sin(2 * math.pi * period / 38)
        wave = math.copysign(0.25, wave) if steep else wave
        return [
            replace(
                one,
                memory=0.5,
                cpu_avg=0.6 * math.exp(sign * wave),
                response_time_ms=60.0 * math.exp(1.5 * sign * wave) + period % 3 / 7,
            )
            for sign, one in zip((1, -1), wobbling(period), strict=True)
        ]

    assert [doubt for period in range(200) for doubt in feed.take_all(swinging(period))] == []


def test_an_exchange_is_seen_whatever_shares_are_in_force() -> None:
    feed = Feed(shares={})
    feed.run(range(20))
    assert feed.run(range(20, 21), exchanged) == ["metrics_swapped"]


def test_an_idle_center_has_no_face() -> None:
    feed = Feed()
    feed.run(range(20))
    beta, alpha = (exchanged(sample) for sample in wobbling(20))
    feed.newest["beta"] = replace(beta, datacenter="beta", request_rate_rps=0.4)
    assert feed.take(replace(alpha, datacenter="alpha")) == ()


def test_what_one_of_them_does_not_report_proves_nothing() -> None:
    feed = Feed()
    feed.run(range(20), lambda s: replace(s, disk=None) if s.datacenter == "beta" else s)
    (finding,) = {
        observed("tickets", doubt).subject
        for sample in wobbling(20)
        for doubt in feed.take(replace(exchanged(sample), disk=None))
    }
    assert finding == "service/tickets"
