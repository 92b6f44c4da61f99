import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.findings import Source
from controlplane.domain.sources import DeclaredSource
from controlplane.engine.samples.pull import Puller, PullOutcome, silent_s
from tests import builders
from tests.builders import OPERATOR
from tests.engine.rig import START_S, Rig
from tests.fakes.metric_sources import MAIN, FakeSource, puller

PERIOD_S = 60.0
EAST, WEST = "beijing-1", "beijing-2"


class Pulling:
    """A puller over the engine in memory; `now` moves the clock into the next period."""

    def __init__(self) -> None:
        self.rig = Rig()
        self.source = FakeSource()
        rig = self.rig
        self.puller = puller(self.source, rig.fleets, rig.intake, rig.instruments)

    async def declare(self, *sources: DeclaredSource) -> None:
        fleet = replace(builders.fleet(), metric_sources=sources)
        await self.rig.fleets.apply(fleet, OPERATOR, force=True)

    async def round(self, name: str = "main") -> PullOutcome:
        self.rig.clock.time_s += PERIOD_S
        pull = self.puller.pulls[name]
        await self.puller.round(pull, self.rig.clock.time_s)
        return pull.outcome

    def found(self) -> list[tuple[str, str]]:
        standing = self.rig.instruments.findings.standing()
        return [
            (one.observation.code, one.observation.subject)
            for one in standing
            if one.source is Source.METRIC_SOURCE
        ]

    def newest_s(self, center: str = EAST) -> float | None:
        newest = self.rig.intake.window("tickets").latest(center)
        return None if newest is None else newest.time_s


@pytest.fixture
async def pulling() -> Pulling:
    made = Pulling()
    await made.declare(MAIN)
    return made


@asynccontextmanager
async def running(kept: Puller) -> AsyncIterator[None]:
    task = asyncio.create_task(kept.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_one_question_for_each_reading_gives_samples_of_all_services(
    pulling: Pulling,
) -> None:
    assert await pulling.round() is PullOutcome.OK
    time_s = START_S + PERIOD_S
    assert sorted(pulling.source.asked) == [
        ("main", "request_rate_rps", time_s),
        ("main", "response_time_ms", time_s),
    ]
    assert pulling.newest_s(EAST) == pulling.newest_s(WEST) == time_s
    assert pulling.found() == []
    pull = pulling.puller.pulls["main"]
    assert (pull.samples, pull.taken, pull.answered_s) == (2, 2, time_s)


@pytest.mark.parametrize("trouble", ["slow", "errors", "nothing", "refused", "surprise"])
async def test_trouble_is_one_finding_holds_everything_and_clears_by_itself(
    pulling: Pulling, trouble: str
) -> None:
    await pulling.round()
    window = pulling.rig.intake.window("tickets")
    source = pulling.source
    if trouble == "slow":
        source.slow = {"main"}
    elif trouble == "nothing":
        source.silent = {EAST, WEST}
    elif trouble == "surprise":
        source.fail = RuntimeError("no adapter should do this")
    else:
        kind = Invalid if trouble == "refused" else Retryable
        source.fail = kind("source_http_error", "status 500")
    async with running(pulling.puller):
        pulling.rig.clock.time_s += PERIOD_S
        await until(lambda: pulling.found() != [])
        codes = {
            "slow": "source_timeout",
            "nothing": "source_empty",
            "surprise": "source_failed",
        }
        assert pulling.found() == [(codes.get(trouble, "source_http_error"), "source/main")]
        assert pulling.rig.intake.window("tickets") is window
        pull = pulling.puller.pulls["main"]
        assert (pull.outcome, pull.samples) == (PullOutcome.FAILED, 0)
        assert silent_s(pull, pulling.rig.clock.now()) == PERIOD_S
        source.slow, source.silent, source.fail = set(), set(), None
        pulling.rig.clock.time_s += PERIOD_S
        await until(lambda: pulling.found() == [])
    assert pulling.newest_s() == START_S + 3 * PERIOD_S
    assert pull.outcome is PullOutcome.OK


async def until(true: object, limit_s: float = 5.0) -> None:
    assert callable(true)
    async with asyncio.timeout(limit_s):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_slow_source_holds_up_no_other(pulling: Pulling) -> None:
    await pulling.declare(MAIN, replace(MAIN, name="other"))
    pulling.source.slow = {"main"}
    async with running(pulling.puller):
        await until(lambda: pulling.newest_s() is not None)
        await until(lambda: pulling.found() == [("source_timeout", "source/main")])
        assert pulling.puller.pulls["other"].outcome is PullOutcome.OK
        assert pulling.puller.pulls["main"].rounds[PullOutcome.FAILED] == 1


async def test_a_data_center_that_vanished_is_named_and_its_samples_stay(
    pulling: Pulling,
) -> None:
    await pulling.round()
    pulling.source.silent = {WEST}
    assert await pulling.round() is PullOutcome.PARTIAL
    assert pulling.found() == [
        ("source_series_missing", f"source/main service/tickets datacenter/{WEST}")
    ]
    assert pulling.newest_s(WEST) == START_S + PERIOD_S
    assert pulling.newest_s(EAST) == START_S + 2 * PERIOD_S
    pulling.source.silent = set()
    await pulling.round()
    assert pulling.found() == []


async def test_what_the_intake_refuses_is_a_finding_at_the_source(pulling: Pulling) -> None:
    pulling.source.values["response_time_ms"] = -1.0
    assert await pulling.round() is PullOutcome.FAILED
    assert {code for code, _ in pulling.found()} == {"source_sample_refused"}
    assert pulling.newest_s() is None
    pull = pulling.puller.pulls["main"]
    assert (pull.told, pull.answered_s) == ({}, None)


async def test_a_source_that_is_undeclared_leaves_no_finding_behind(pulling: Pulling) -> None:
    pulling.source.fail = Retryable("source_away", "x")
    await pulling.round()
    assert pulling.found() == [("source_away", "source/main")]
    await pulling.declare()
    assert dict(pulling.puller.pulls) == {}
    assert pulling.found() == []


async def test_a_round_that_ends_after_its_source_is_gone_reports_nothing(
    pulling: Pulling,
) -> None:
    pull = pulling.puller.pulls["main"]
    pulling.source.fail = Retryable("source_away", "x")
    await pulling.declare(replace(MAIN, url="http://127.0.0.1:8"))
    await pulling.puller.round(pull, START_S)
    assert pulling.found() == []
    assert pulling.puller.pulls["main"].outcome is PullOutcome.WAITING


async def test_rounds_are_for_the_ends_of_periods_each_once(pulling: Pulling) -> None:
    quick = replace(MAIN, name="quick", period_s=30.0)
    await pulling.declare(MAIN, quick)
    pulling.rig.clock.time_s = START_S + 45.0
    async with running(pulling.puller):
        await until(lambda: len(pulling.source.asked) == 4)
        await asyncio.sleep(0.05)
        asked = {(name, time_s) for name, _, time_s in pulling.source.asked}
        assert asked == {("main", START_S), ("quick", START_S + 30.0)}
        pulling.rig.clock.time_s = START_S + 61.0
        await until(lambda: len(pulling.source.asked) == 8)
    assert {time_s for _, _, time_s in pulling.source.asked[4:]} == {START_S + 60.0}


async def test_a_clock_that_is_set_back_silences_no_source(pulling: Pulling) -> None:
    async with running(pulling.puller):
        await until(lambda: len(pulling.source.asked) == 2)
        pulling.rig.clock.time_s = START_S - 3_600.0
        await until(lambda: len(pulling.source.asked) == 4)
    assert pulling.source.asked[-1][2] == START_S - 3_600.0


async def test_a_source_declared_while_running_is_asked(pulling: Pulling) -> None:
    async with running(pulling.puller):
        await pulling.declare(MAIN, replace(MAIN, name="late"))
        await until(lambda: any(name == "late" for name, _, _ in pulling.source.asked))


async def test_a_puller_that_starts_again_asks_again(pulling: Pulling) -> None:
    pulling.source.slow = {"main"}
    async with running(pulling.puller):
        await until(lambda: bool(pulling.source.asked))
    pulling.source.slow = set()
    pulling.rig.clock.time_s += PERIOD_S
    async with running(pulling.puller):
        await until(lambda: pulling.newest_s() is not None)
