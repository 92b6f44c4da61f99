"""Honest metrics of the training simulator raise nothing: bad minutes are not bad input."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.suspicion.shares import shares_exchanged
from controlplane.domain.telemetry import Sample
from tests.domain.suspicion.feeding import Feed, exchanged
from training.dataset import CenterSeries
from training.simulation.simulator import simulate
from training.simulation.weather import draw, operator_ratio
from training.simulation.world import World, load_world

DAYS_2 = 2_880
READINGS = (
    "request_rate_rps", "response_time_ms", "cpu_avg", "cpu_max", "ingress_bandwidth_bps",
    "memory", "disk",
)  # fmt: skip
Ratio = NDArray[np.float64]


def _samples(world: World, ratio: Ratio, seed: int) -> Iterator[tuple[Sample, Sample]]:
    run = simulate(world, draw(world, len(ratio), seed), ratio)
    for at, time_s in enumerate(run.time_s):
        yield _one("alpha", run.primary, at, time_s), _one("beta", run.secondary, at, time_s)


def _one(name: str, series: CenterSeries, at: int, time_s: float) -> Sample:
    readings = {reading: float(getattr(series, reading)[at]) for reading in READINGS}
    return Sample(datacenter=name, service="tickets", time_s=time_s, received_s=time_s, **readings)  # type: ignore[arg-type]


def _feed(world: World) -> Feed:
    endpoints = (Endpoint(address="127.0.0.1", port=1),)
    centers = {"alpha": world.primary, "beta": world.secondary}
    clusters = tuple(
        Cluster(datacenter=name, capacity_rps=center.capacity_rps, endpoints=endpoints)
        for name, center in centers.items()
    )
    return Feed(service=Service(name="tickets", clusters=clusters))


def _wandering(seed: int, width: float) -> Ratio:
    """A ratio that moves every ten minutes, by a step or anywhere."""
    rng = np.random.default_rng(seed)
    ratio, ratios = 0.5, []
    for _ in range(DAYS_2 // 10):
        ratio = float(np.clip(ratio + rng.choice([-width, 0.0, width]), 0.2, 0.8))
        ratios += [ratio] * 10
    return np.array(ratios)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("moves", ["operator", "steps", "leaps"])
def test_two_simulated_days_raise_nothing(seed: int, moves: str) -> None:
    world = load_world("W1")
    ratio = {
        "operator": operator_ratio(world, DAYS_2, seed),
        "steps": _wandering(seed, 0.05),
        "leaps": _wandering(seed, 0.3),
    }[moves]
    feed, doubts = _feed(world), []
    for at, pair in enumerate(_samples(world, ratio, seed)):
        if ratio[at] != ratio[at - 1]:
            feed.moved_s = pair[0].time_s
        feed.shares = {"alpha": float(ratio[at]), "beta": 1.0 - float(ratio[at])}
        doubts += feed.take_all(pair)
        doubts += shares_exchanged(feed.past, feed.limits)
    assert doubts == []


def test_an_exchange_of_unlike_centers_is_seen_in_the_same_minute() -> None:
    """Not every one: at times two centres look alike, and an exchange of equals is none."""
    world = load_world("W1")
    ratio = np.full(600, 0.7)
    feed, seen, tried = _feed(world), 0, 0
    for at, pair in enumerate(_samples(world, ratio, 3)):
        feed.shares = {"alpha": 0.7, "beta": 0.3}
        if at > 30 and at % 10 == 0:
            tried += 1
            other = Feed(
                service=feed.service,
                shares=feed.shares,
                window=feed.window,
                newest=dict(feed.newest),
            )
            seen += bool(other.take_all(exchanged(sample) for sample in pair))
        feed.take_all(pair)
    assert seen >= 0.9 * tried
