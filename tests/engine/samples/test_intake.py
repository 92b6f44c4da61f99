import asyncio
import math

import pytest
from structlog.testing import capture_logs

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Retryable
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.samples import intake as intakes
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.suspicion import SuspicionRules, Suspicions
from controlplane.engine.stages import Instruments
from tests.builders import OPERATOR, fleet, sample
from tests.fakes.stores import MemoryFleetStore, MemorySampleStore, Outage


class Rig:
    """An intake with a clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.outage = Outage()
        self.store = MemorySampleStore(outage=self.outage)
        self.pokes = Pokes(quiet_s=0.001)
        instruments = Instruments(now=lambda: self.now_s)
        self.fleets = Fleets(MemoryFleetStore(), self.pokes, instruments)
        self.instruments = instruments
        self.suspicions = Suspicions(self.fleets, None, SuspicionRules(), instruments)
        self.intake = Intake(self.store, self.fleets, self.pokes, self.suspicions, instruments)

    async def started(self) -> "Rig":
        await self.fleets.apply(fleet(), OPERATOR)
        await self.pokes.take()
        return self


async def test_one_bad_sample_is_one_finding_and_the_rest_counts() -> None:
    rig = await Rig().started()
    receipt = await rig.intake.accept(
        [
            sample("beijing-1"),
            sample("beijing-1", cpu_avg=math.nan),
            sample("nowhere"),
            sample("beijing-2", response_time_ms=-1.0),
            sample("beijing-2"),
            sample("beijing-2", time_s=1e9),
        ]
    )
    assert receipt.accepted == 2
    assert [(finding.index, finding.field) for finding in receipt.findings] == [
        (1, "cpu_avg"),
        (2, ""),
        (3, "response_time_ms"),
        (5, "time"),
    ]
    assert all(finding.message for finding in receipt.findings)
    assert set(rig.intake.window("tickets").samples) == {"beijing-1", "beijing-2"}


async def test_staleness_is_by_receive_time() -> None:
    rig = await Rig().started()
    await rig.intake.accept([sample("beijing-1", time_s=10.0)])
    rig.now_s += 30.0
    window = rig.intake.window("tickets")
    assert window.age_s("beijing-1", rig.now_s) == 30.0
    assert window.age_s("beijing-2", rig.now_s) == math.inf


async def test_an_alarm_pokes_once_per_period() -> None:
    rig = await Rig().started()
    await rig.intake.accept([sample(cpu_avg=0.95), sample("beijing-2", cpu_avg=0.9)])
    await rig.intake.accept([sample(cpu_avg=0.95, time_s=1001.0)])
    pokes = await rig.pokes.take()
    assert [(poke.trigger, poke.services) for poke in pokes] == [
        (Trigger.ALARM, frozenset({"tickets"}))
    ]


async def test_samples_outlive_a_store_that_is_away() -> None:
    rig = await Rig().started()
    rig.outage.away = True
    await rig.intake.accept([sample("beijing-1"), sample("beijing-2")])
    await rig.intake.flush()
    rig.outage.away = False
    await rig.intake.accept([sample("beijing-1", time_s=1060.0)])
    await rig.intake.flush()
    assert len(await rig.store.since("tickets", 0.0)) == 3


async def test_an_outage_is_logged_once_and_without_room_the_oldest_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intakes, "MOST_PENDING", 3)
    rig = await Rig().started()
    rig.outage.away = True
    with capture_logs() as logs:
        for time_s in (1000.0, 1060.0, 1120.0, 1180.0):
            rig.now_s = time_s
            await rig.intake.accept([sample("beijing-1", time_s=time_s)])
            await rig.intake.flush()
    assert [entry["event"] for entry in logs].count("samples.store_away") == 1
    assert rig.intake.waiting == 3
    rig.outage.away = False
    await rig.intake.flush()
    assert [one.time_s for one in await rig.store.since("tickets", 0.0)] == [1060.0, 1120.0, 1180.0]


async def test_a_batch_on_its_way_makes_room_for_what_came_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intakes, "MOST_PENDING", 2)
    rig = await Rig().started()
    await rig.intake.accept([sample("beijing-1", time_s=900.0), sample("beijing-2", time_s=900.0)])

    async def fail(store: MemorySampleStore, batch: object) -> None:
        await rig.intake.accept([sample("beijing-1"), sample("beijing-2")])
        raise Retryable("store_unavailable", "away")

    with monkeypatch.context() as patched:
        patched.setattr(MemorySampleStore, "append", fail)
        await rig.intake.flush()
    await rig.intake.flush()
    assert {one.time_s for one in await rig.store.since("tickets", 0.0)} == {1000.0}


async def test_windows_come_back_after_a_restart_with_their_age() -> None:
    rig = await Rig().started()
    await rig.intake.accept([sample("beijing-1"), sample("beijing-2")])
    await rig.intake.flush()
    rig.now_s += 500.0
    suspicions = Suspicions(rig.fleets, None, SuspicionRules(), rig.instruments)
    again = Intake(rig.store, rig.fleets, rig.pokes, suspicions, rig.instruments)
    await again.restore()
    assert again.window("tickets").age_s("beijing-2", rig.now_s) == 500.0


async def test_a_long_call_gives_others_a_turn_and_numbers_its_findings_through() -> None:
    rig = await Rig().started()
    turns: list[int] = []

    async def beat() -> None:
        while True:
            turns.append(rig.intake.accepted)
            await asyncio.sleep(0)

    beating = asyncio.create_task(beat())
    now_s = rig.now_s
    samples = [sample(time_s=now_s - n) for n in range(1_201)]
    samples[700] = sample("nowhere")
    receipt = await rig.intake.accept(samples)
    beating.cancel()
    assert (receipt.accepted, [finding.index for finding in receipt.findings]) == (1_200, [700])
    assert (rig.intake.accepted, rig.intake.refused) == (1_200, 1)
    assert {500, 999, 1_200} <= set(turns)
