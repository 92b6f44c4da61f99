"""A store that is away is a finding that clears by itself; lost files are put back."""

import asyncio

import pytest

from controlplane.domain.findings import Severity, Source
from controlplane.engine import store_watch as module
from controlplane.engine.stages import Instruments
from controlplane.engine.store_watch import StoreWatch
from tests.fakes.care import MemoryStoreCare


class Watched:
    def __init__(self) -> None:
        self.care = MemoryStoreCare()
        self.instruments = Instruments()
        self.watch = StoreWatch(self.care, self.instruments)

    @property
    def standing(self) -> list[tuple[str, str]]:
        found = self.instruments.findings.standing()
        assert all(one.source is Source.STORE for one in found)
        return [(one.observation.code, one.observation.subject) for one in found]


AWAY = [("store_unavailable", "store")]


async def test_an_outage_is_a_finding_until_it_is_over() -> None:
    watched = Watched()
    await watched.watch.look()
    assert (watched.standing, watched.watch.away) == ([], "")
    watched.care.outage.away = True
    for _ in range(2):
        await watched.watch.look()
        assert watched.standing == AWAY
        assert "does not answer" in watched.watch.away
    (finding,) = watched.instruments.findings.standing()
    assert (finding.reports, finding.observation.severity) == (2, Severity.CRITICAL)
    assert "503" in finding.observation.held
    watched.care.outage.away = False
    await watched.watch.look()
    assert (watched.standing, watched.watch.away) == ([], "")


async def test_lost_files_are_put_back_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUT_BACK_AFTER_S", 0.05)
    watched = Watched()
    watched.care.gone = True
    await watched.watch.look()
    assert (watched.care.put_backs, watched.standing) == (0, AWAY)
    await asyncio.sleep(0.06)
    await watched.watch.look()
    assert (watched.care.put_backs, watched.watch.put_backs) == (1, 1)
    assert watched.standing == AWAY
    await watched.watch.look()
    assert watched.standing == []


async def test_files_that_come_back_in_time_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUT_BACK_AFTER_S", 0.05)
    watched = Watched()
    for gone in (True, False, True):
        watched.care.gone = gone
        await watched.watch.look()
        await asyncio.sleep(0.03)
    assert watched.care.put_backs == 0


async def test_no_room_for_the_way_back_is_said_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PUT_BACK_AFTER_S", 0.0)
    watched = Watched()
    watched.care.gone = True
    original = MemoryStoreCare.put_back

    async def full(care: MemoryStoreCare) -> None:
        care.outage.away = True
        try:
            await original(care)
        finally:
            care.outage.away = False

    with monkeypatch.context() as patched:
        patched.setattr(MemoryStoreCare, "put_back", full)
        await watched.watch.look()
    assert "does not answer" in watched.watch.away
    assert watched.standing == AWAY
    await watched.watch.look()
    assert watched.care.put_backs == 1


@pytest.mark.parametrize(("gone", "put_backs"), [(True, 1), (False, 0)])
async def test_before_the_end_lost_files_are_put_back_at_once(gone: bool, put_backs: int) -> None:
    watched = Watched()
    running = asyncio.create_task(watched.watch.run())
    await asyncio.sleep(0.01)
    watched.care.gone = gone
    watched.care.outage.away = not gone
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert watched.care.put_backs == put_backs


async def test_it_looks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOUND_EVERY_S", 0.01)
    monkeypatch.setattr(module, "AWAY_EVERY_S", 0.01)
    watched = Watched()
    running = asyncio.create_task(watched.watch.run())
    for away in (True, False, True, False):
        watched.care.outage.away = away
        async with asyncio.timeout(2):
            while bool(watched.standing) is not away:
                await asyncio.sleep(0.005)
    running.cancel()
