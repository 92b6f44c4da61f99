"""The limit of an upstream that is simulated: servers, a queue, and times that change."""

import heapq
import math
import random
from collections import deque
from dataclasses import replace

import pytest

from controlplane.domain.admission.adaptive_concurrency import (
    AdaptiveConcurrencyPolicy,
    Concurrency,
    ConcurrencyFacts,
    allowed,
    begun,
    check_adaptive_concurrency,
    decide,
    dropped,
    ended,
    refused,
    start,
)
from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

USUAL = AdaptiveConcurrencyPolicy()
ASKED = Asked(request=Request(path="/"), now_s=0.0, service="seats")


class Upstream:
    """M/M/n with open arrivals; from `slower_s` on each request takes twice as long."""

    def __init__(self, policy: AdaptiveConcurrencyPolicy, servers: int, mean_s: float) -> None:
        self.policy, self.servers, self.mean_s = policy, servers, mean_s
        self.known = start(policy)
        self.random = random.Random(3)
        self.slower_s = math.inf
        self.now_s = 0.0
        self.finished: list[tuple[float, float]] = []
        self._waiting: deque[float] = deque()
        self._ends: list[tuple[float, float]] = []

    def play(self, rate_rps: float, until_s: float) -> None:
        coming_s = self.now_s
        while coming_s < until_s:
            while self._ends and self._ends[0][0] <= coming_s:
                self._end()
            self.now_s = coming_s
            self._come()
            coming_s += self.random.expovariate(rate_rps)
        self.now_s = until_s

    def throughput_rps(self, start_s: float, end_s: float) -> float:
        return sum(start_s <= at < end_s for at, _ in self.finished) / (end_s - start_s)

    def _come(self) -> None:
        facts = ConcurrencyFacts(
            inflight=self.known.inflight, allowed=allowed(self.policy, self.known)
        )
        if decide(self.policy, ASKED, facts) is not ADMITTED:
            self.known = refused(self.known)
            return
        self.known = begun(self.policy, self.known)
        self._waiting.append(self.now_s)
        self._serve()

    def _serve(self) -> None:
        while self._waiting and len(self._ends) < self.servers:
            mean_s = self.mean_s * (2 if self.now_s >= self.slower_s else 1)
            end_s = self.now_s + self.random.expovariate(1 / mean_s)
            heapq.heappush(self._ends, (end_s, self._waiting.popleft()))

    def _end(self) -> None:
        self.now_s, came_s = heapq.heappop(self._ends)
        took_ms = (self.now_s - came_s) * 1_000
        self.finished.append((self.now_s, took_ms))
        self.known = ended(self.policy, self.known, took_ms, self.now_s)
        self._serve()


@pytest.mark.parametrize(("servers", "mean_s"), [(20, 0.05), (5, 0.02), (50, 0.05)])
def test_four_fifths_of_the_new_capacity_are_used_after_it_was_halved(
    servers: int, mean_s: float
) -> None:
    made = Upstream(USUAL, servers, mean_s)
    capacity_rps = servers / mean_s
    made.slower_s = 15.0
    made.play(2 * capacity_rps, 30.0)
    assert made.throughput_rps(5.0, 15.0) >= 0.9 * capacity_rps
    assert made.throughput_rps(25.0, 30.0) >= 0.8 * capacity_rps / 2


def test_a_queue_stays_short_under_twice_the_load() -> None:
    made = Upstream(USUAL, 20, 0.05)
    made.play(800.0, 20.0)
    late = sorted(took_ms for at, took_ms in made.finished if at > 10.0)
    # Without a queue the median is 35 ms; without a limit it would be seconds.
    assert late[len(late) // 2] < 3 * 35


def test_with_a_declared_least_response_time_nothing_is_probed() -> None:
    made = Upstream(replace(USUAL, least_ms=35.0), 20, 0.05)
    made.play(800.0, 20.0)
    assert made.known.probed_s == -math.inf
    assert made.throughput_rps(10.0, 20.0) >= 0.9 * 400


def test_a_limit_that_is_not_reached_does_not_grow() -> None:
    made = Upstream(USUAL, 50, 0.005)
    made.play(100.0, 20.0)
    assert made.known.limit == USUAL.initial
    assert made.known.inflight <= 5


def test_the_limit_keeps_within_its_bounds() -> None:
    policy = replace(USUAL, least=5, most=8, initial=8)
    made = Upstream(policy, 50, 0.005)
    made.play(5_000.0, 2.0)
    assert made.known.limit == 8
    assert allowed(policy, replace(made.known, probing=True)) == 5
    slow = replace(policy, least_ms=0.01)
    made = Upstream(slow, 50, 0.005)
    made.play(5_000.0, 2.0)
    assert made.known.limit == 5


def test_only_the_first_answers_of_a_window_are_kept() -> None:
    known = Concurrency(limit=20.0, opened_s=0.0, seen_ms=(1.0,) * 200)
    assert len(ended(replace(USUAL, window_s=60.0), known, 5.0, 1.0).seen_ms) == 200


def test_what_is_refused_says_how_many_are_there() -> None:
    full = decide(USUAL, ASKED, ConcurrencyFacts(inflight=20))
    assert (full.verdict, full.reason, full.status) == (Verdict.REFUSE, "concurrency_limit", 503)
    assert full.details == {"service": "seats", "inflight": 20, "limit": 20}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"least": 0}, "least is 0: give 1..100000"),
        ({"most": 2}, "most is 2: give 3..100000"),
        ({"initial": 2_000}, "initial is 2000: give 3..1000"),
        ({"window_s": 0.0}, "window_s is 0.0: give 0.01..60.0"),
        ({"samples": 0}, "samples is 0: give 1..200"),
        ({"tolerance": math.nan}, "tolerance is nan: give 0.0..10.0"),
        ({"least_ms": 0.0}, "least_ms is 0.0: give 0.001..600000.0"),
        ({"probe_every_s": 0.1}, "probe_every_s is 0.1: give 0.25..3600.0"),
        ({"status": 200}, "status is 200: give 429 or 503"),
    ],
)
def test_what_cannot_be_carried_out_says_which_limit(values: dict[str, float], words: str) -> None:
    with pytest.raises(Invalid, match=f"adaptive_concurrency: {words}"):
        check_adaptive_concurrency(replace(USUAL, **values))  # type: ignore[arg-type]


def test_defaults_can_be_carried_out() -> None:
    check_adaptive_concurrency(USUAL)
    check_adaptive_concurrency(replace(USUAL, least_ms=20.0, status=429))


def test_one_that_never_reached_the_upstream_says_nothing_of_it() -> None:
    known = begun(USUAL, start(USUAL))
    assert dropped(known) == start(USUAL)
    assert dropped(start(USUAL)).inflight == 0
