import pytest

from controlplane.domain.intents.intent import Intent, IntentKind, Wanted
from controlplane.domain.jobs import Job, JobState, JobTrigger
from controlplane.engine import retention
from controlplane.engine.retention import DAY_S, Retention, RetentionStores, RetentionTimes
from controlplane.engine.stages import Instruments, Stage, StageOutcome
from tests.fakes.stores import MemoryStores
from tests.ports.examples import decision, sample, snapshot

NOW_S = 100 * DAY_S
OLD_S, RECENT_S = 60 * DAY_S, 99 * DAY_S


def ended_job(created_s: float) -> Job:
    return Job(
        id=f"tickets-{created_s}",
        service="tickets",
        trigger=JobTrigger.WEEKLY,
        author="retraining",
        created_s=created_s,
        state=JobState.FAILED,
    )


async def _filled() -> MemoryStores:
    stores = MemoryStores()
    await stores.samples.append([sample(OLD_S), sample(RECENT_S)])
    await stores.decisions.record([decision(OLD_S - 1), decision(OLD_S), decision(RECENT_S)])
    for created_s in (OLD_S - 1, OLD_S, RECENT_S):
        await stores.jobs.put(ended_job(created_s))
    for revision in range(4):
        await stores.snapshots.append(snapshot(), revision)
    return stores


def _retention(stores: MemoryStores, instruments: Instruments | None = None) -> Retention:
    return Retention(
        RetentionStores(
            minutes=stores.minutes,
            decisions=stores.decisions,
            jobs=stores.jobs,
            snapshots=stores.snapshots,
            intents=stores.intents,
            deliveries=stores.operations.deliveries,
            journal=stores.operations.journal,
        ),
        RetentionTimes(samples_s=30 * DAY_S, minutes_s=50 * DAY_S, decisions_s=40 * DAY_S),
        instruments or Instruments(now=lambda: NOW_S),
    )


async def test_each_kind_goes_after_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SNAPSHOTS_KEPT", 3)
    stores = await _filled()
    await _retention(stores).sweep()
    assert [s.time_s for s in await stores.samples.since("tickets", 0)] == [RECENT_S]
    assert [s.time_s for s in await stores.minutes.page("tickets", (0, ""))] == [OLD_S]
    assert [d.time_s for d in await stores.decisions.recent(None, 9)] == [RECENT_S, OLD_S]
    assert [job.created_s for job in await stores.jobs.recent(None, 9)] == [RECENT_S, OLD_S]
    assert [s.revision for s in stores.snapshots.snapshots] == [2, 3, 4]


async def test_minute_means_go_after_their_own_time() -> None:
    stores = await _filled()
    await _retention(stores).sweep()
    await _retention(stores, Instruments(now=lambda: NOW_S + 11 * DAY_S)).sweep()
    assert await stores.minutes.page("tickets", (0, "")) == []
    assert len(stores.samples.samples) == 1


async def test_a_store_that_is_away_is_counted_and_dropped_at_the_next_sweep() -> None:
    stores = await _filled()
    instruments = Instruments(now=lambda: NOW_S)
    sweeping = _retention(stores, instruments)
    stores.outage.away = True
    await sweeping.sweep()
    totals = instruments.stages.totals
    assert totals[Stage.PRUNE, StageOutcome.ERROR].count == 7
    assert len(stores.samples.samples) == 2
    stores.outage.away = False
    await sweeping.sweep()
    assert len(stores.samples.samples) == 1
    assert totals[Stage.PRUNE, StageOutcome.OK].count == 7


async def test_what_a_standing_rollback_publishes_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SNAPSHOTS_KEPT", 1)
    stores = await _filled()
    back = Intent(
        id="rollback-1",
        number=1,
        wanted=Wanted(kind=IntentKind.ROLLBACK, revision=2),
        author="ann",
        created_s=NOW_S,
        change=1,
    )
    await stores.intents.put([back], 0)
    await _retention(stores).sweep()
    assert [s.revision for s in stores.snapshots.snapshots] == [2, 3, 4]
