"""When endpoints are asked, and what follows from their answers."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.checks import Checked, Verdict
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import CheckKind, HealthCheck
from controlplane.engine.health.probing import LATE_S, Prober
from tests.fakes.health import FakeChecker

BUDGET = ProbeBudget(per_endpoint=200.0)
CHECK = HealthCheck(interval_ms=40, timeout_ms=30)
DEADLINE_S = 5.0


def key(port: int, datacenter: str = "east") -> EndpointKey:
    return EndpointKey(
        service="shop", datacenter=datacenter, cluster="", address="10.0.0.1", port=port
    )


class Bench:
    """A prober over endpoints that fail when a test says so."""

    def __init__(self, check: HealthCheck = CHECK, budget: ProbeBudget = BUDGET) -> None:
        self.checker = FakeChecker()
        self.changed: list[EndpointKey] = []
        checkers = dict.fromkeys(CheckKind, self.checker)
        self.prober = Prober(checkers, budget, self.changed.append, time.time)
        self.check = check

    def watch(self, *ports: int, stretch: float = 1.0) -> None:
        self.prober.watch({key(port): self.check for port in ports}, stretch)

    def verdict(self, port: int) -> Verdict:
        return self.prober.opinions()[key(port)].verdict

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.prober.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def until(self, port: int, verdict: Verdict) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while self.verdict(port) is not verdict:
                await asyncio.sleep(0.002)


async def test_endpoints_are_asked_in_their_intervals_and_changes_are_told() -> None:
    bench = Bench()
    bench.watch(1, 2)
    assert bench.verdict(1) is Verdict.UNKNOWN
    async with bench.running():
        await bench.until(1, Verdict.HEALTHY)
        await bench.until(2, Verdict.HEALTHY)
        bench.checker.dead.add(1)
        await bench.until(1, Verdict.UNHEALTHY)
    assert bench.changed.count(key(1)) == 2
    assert bench.changed.count(key(2)) == 1
    assert bench.prober.opinions()[key(1)].words == "refused"
    assert bench.prober.failed >= 2
    assert bench.prober.asked == len(bench.checker.asked)


async def test_a_failure_is_followed_up_and_neighbours_are_asked_at_once() -> None:
    slow = HealthCheck(interval_ms=1_000, timeout_ms=100, unhealthy_threshold=1)
    bench = Bench(slow)
    bench.watch(*range(1, 21))
    async with bench.running():
        for port in range(1, 21):
            await bench.until(port, Verdict.HEALTHY)
        bench.checker.dead.update(range(1, 21))
        started_s = time.monotonic()
        for port in range(1, 21):
            await bench.until(port, Verdict.UNHEALTHY)
        took_s = time.monotonic() - started_s
    # Threshold 1: nobody is doubted before the verdict, so each waits for its own time.
    assert took_s > 0.2
    two = Bench(HealthCheck(interval_ms=1_000, timeout_ms=100))
    two.watch(*range(1, 21))
    async with two.running():
        for port in range(1, 21):
            await two.until(port, Verdict.HEALTHY)
        two.checker.dead.update(range(1, 21))
        started_s = time.monotonic()
        for port in range(1, 21):
            await two.until(port, Verdict.UNHEALTHY)
        took_s = time.monotonic() - started_s
    # The first failure, all neighbours at once, and half an interval for the second.
    assert took_s < 0.9


async def test_an_endpoint_is_never_asked_more_often_than_it_bears() -> None:
    bench = Bench(HealthCheck(interval_ms=50, timeout_ms=20), ProbeBudget(per_endpoint=20.0))
    bench.watch(1, 2, 3)
    async with bench.running():
        await bench.until(1, Verdict.HEALTHY)
        bench.checker.dead.update({1, 2, 3})
        bench.checker.asked.clear()
        await asyncio.sleep(0.5)
    assert max(bench.checker.asked.count(port) for port in (1, 2, 3)) <= 11


async def test_who_is_no_longer_declared_is_no_longer_asked() -> None:
    bench = Bench()
    bench.watch(1, 2)
    async with bench.running():
        await bench.until(1, Verdict.HEALTHY)
        bench.watch(2, 3)
        await bench.until(3, Verdict.HEALTHY)
        bench.checker.asked.clear()
        await asyncio.sleep(0.1)
        assert set(bench.checker.asked) == {2, 3}
        # Taken out and back at once: known as new, and asked by one task.
        bench.watch(3)
        bench.watch(2, 3)
        assert bench.verdict(2) is Verdict.UNKNOWN
        await bench.until(2, Verdict.HEALTHY)
        bench.checker.asked.clear()
        await asyncio.sleep(0.2)
    assert bench.checker.asked.count(2) <= 7
    assert set(bench.prober.opinions()) == {key(2), key(3)}


async def test_a_changed_check_keeps_what_is_known() -> None:
    bench = Bench()
    bench.watch(1)
    async with bench.running():
        await bench.until(1, Verdict.HEALTHY)
        bench.check = HealthCheck(interval_ms=20, timeout_ms=10)
        bench.watch(1, stretch=0.5)
        assert bench.verdict(1) is Verdict.HEALTHY


async def test_what_was_known_before_is_gone_on_from() -> None:
    bench = Bench()
    seeds = {key(1): Checked(verdict=Verdict.UNHEALTHY)}
    bench.prober.watch({key(1): CHECK}, seeds=seeds)
    async with bench.running():
        await asyncio.sleep(0.15)
        assert bench.verdict(1) is Verdict.UNHEALTHY
        await bench.until(1, Verdict.HEALTHY)


async def test_an_answer_that_is_late_because_we_were_says_nothing() -> None:
    class Held(FakeChecker):
        async def check(self, endpoint: EndpointKey, _check: HealthCheck) -> str:
            time.sleep(CHECK.timeout_ms / 1_000 + LATE_S + 0.02)  # noqa: ASYNC251
            return "no answer"

    bench = Bench()
    bench.prober = Prober(dict.fromkeys(CheckKind, Held()), BUDGET, bench.changed.append, time.time)
    bench.watch(1)
    async with bench.running():
        async with asyncio.timeout(DEADLINE_S):
            while bench.prober.late < 3:
                await asyncio.sleep(0.01)
    assert bench.verdict(1) is Verdict.UNKNOWN
    assert bench.prober.failed == 0
