"""Decisions wait for a store that is away, in order and bounded."""

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Invalid
from controlplane.engine.reconciling import records as module
from controlplane.engine.reconciling.records import Records
from controlplane.engine.stages import Instruments
from tests.fakes.stores import MemoryDecisionStore
from tests.ports.examples import decision


def made(number: int) -> Decision:
    return replace(decision(float(number)), id=f"tickets@{number}")


@pytest.fixture
def store() -> MemoryDecisionStore:
    return MemoryDecisionStore()


@pytest.fixture
def records(store: MemoryDecisionStore) -> Records:
    return Records(store, Instruments())


async def test_written_at_once_while_the_store_is_there(
    records: Records, store: MemoryDecisionStore
) -> None:
    await records.add([made(1), made(2)])
    assert list(store.decisions) == ["tickets@1", "tickets@2"]
    assert records.waiting == 0


async def test_what_waits_is_written_later_in_order(
    records: Records, store: MemoryDecisionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    store.outage.away = True
    with capture_logs() as logs:
        await records.add([made(1)])
        await records.add([made(2)])
        running = asyncio.create_task(records.run())
        await asyncio.sleep(0.05)
        assert (records.waiting, store.decisions) == (2, {})
        store.outage.away = False
        async with asyncio.timeout(2):
            while records.waiting:
                await asyncio.sleep(0.01)
    running.cancel()
    assert list(store.decisions) == ["tickets@1", "tickets@2"]
    assert [entry["event"] for entry in logs] == ["decision.store_away"]


async def test_the_last_are_written_when_the_service_stops(
    records: Records, store: MemoryDecisionStore
) -> None:
    store.outage.away = True
    await records.add([made(1)])
    running = asyncio.create_task(records.run())
    await asyncio.sleep(0)
    store.outage.away = False
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(store.decisions) == ["tickets@1"]


async def test_memory_is_bounded_and_the_oldest_are_lost(
    records: Records, store: MemoryDecisionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    monkeypatch.setattr(module, "AT_ONCE", 2)
    store.outage.away = True
    for number in range(5):
        await records.add([made(number)])
    assert (records.waiting, records.lost) == (3, 2)
    store.outage.away = False
    await records.flush()
    assert list(store.decisions) == ["tickets@2", "tickets@3", "tickets@4"]


async def test_what_the_store_refuses_for_good_holds_nothing_up(
    records: Records, store: MemoryDecisionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: object, decisions: object) -> None:
        raise Invalid("stored_value_unreadable", "x")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryDecisionStore, "record", refuse)
        await records.add([made(1)])
    assert (records.waiting, records.lost) == (0, 1)
    await records.add([made(2)])
    assert list(store.decisions) == ["tickets@2"]
