"""Health where time passes: observers come and go, states hold, the picture outlives a restart."""

import asyncio
import contextlib
import time
from dataclasses import replace

import pytest

from controlplane.domain.findings import Source
from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.judging import Orders, endpoint_keys
from controlplane.domain.health.picture import EndpointKey, ObserverState
from controlplane.domain.health.quorum import Opinion
from controlplane.domain.health.states import CenterEvent, CenterState, EndpointState
from controlplane.domain.services import HealthCheck
from controlplane.engine.health.observers import OWN_NAME
from controlplane.engine.health.watch import HealthWatch
from tests.builders import fleet, service
from tests.engine.rig import Rig
from tests.fakes.health import FakeChecker, MemoryHealthStore, watch

EAST, WEST = "beijing-1", "beijing-2"
SHOP = service()
DEADLINE_S = 5.0


async def site(rig: Rig, store: MemoryHealthStore | None = None) -> HealthWatch:
    await rig.declare(fleet(SHOP))
    found = watch(rig.fleets, rig.instruments, store)
    found.look()
    return found


def saying(*dead: str) -> dict[EndpointKey, Opinion]:
    """Healthy but for those of these data centres."""
    return {
        key: Opinion(verdict=Verdict.UNHEALTHY if key.datacenter in dead else Verdict.HEALTHY)
        for key in endpoint_keys(SHOP)
    }


def tell(health: HealthWatch, **reports: tuple[str, ...]) -> None:
    for name, dead in reports.items():
        health.observe(name, saying(*dead))
    health.look()


def codes(rig: Rig) -> set[str]:
    standing = rig.findings.standing()
    return {one.observation.code for one in standing if one.source is Source.HEALTH}


async def test_one_of_three_that_is_cut_off_changes_nothing() -> None:
    rig = Rig()
    health = await site(rig)
    tell(health, a=(), b=(), c=())
    number, services = health.picture.number, health.picture.services
    tell(health, a=(EAST, WEST), b=(), c=())
    assert health.picture.services == services
    assert not health.picture.held
    rig.clock.time_s += 3.0
    tell(health, a=(EAST, WEST), b=(), c=())
    assert codes(rig) == {"observer_blind"}
    # Silent as well: the other two agree that the east is dead.
    rig.clock.time_s += 4.0
    tell(health, b=(EAST,), c=(EAST,))
    assert health.picture.down("tickets", EAST)
    assert health.picture.number > number


async def test_a_majority_that_is_cut_off_holds_and_alarms() -> None:
    rig = Rig()
    health = await site(rig)
    tell(health, a=(), b=(), c=())
    rig.clock.time_s += 4.0
    tell(health, c=(EAST,))
    assert health.picture.held
    assert not health.picture.down("tickets", EAST)
    rig.clock.time_s += 2.5
    tell(health, c=(EAST,))
    assert codes(rig) == {"observers_lost", "observer_silent"}
    tell(health, a=(EAST,), b=(EAST,))
    assert health.picture.down("tickets", EAST)
    assert codes(rig) == {"datacenter_down"}


async def test_a_silent_observer_is_forgotten_in_the_end() -> None:
    rig = Rig()
    health = await site(rig)
    tell(health, a=(), b=())
    rig.clock.time_s += 601.0
    tell(health, b=(EAST,))
    assert [one.name for one in health.picture.observers] == ["b"]
    assert health.picture.down("tickets", EAST)


async def test_what_an_observer_no_longer_says_is_over() -> None:
    health = await site(Rig())
    tell(health, a=(EAST,))
    health.observe("a", {})
    health.look()
    assert health.picture.down("tickets", EAST)
    assert [one.endpoints for one in health.picture.observers] == [0]


async def test_who_waits_is_told_of_the_next_picture() -> None:
    health = await site(Rig())
    number = health.picture.number
    waiting = asyncio.create_task(health.changed_since(number, DEADLINE_S))
    await asyncio.sleep(0)
    tell(health, a=(EAST,))
    found = await waiting
    assert found is not None
    assert found.down("tickets", EAST)
    health.look()
    assert await health.changed_since(found.number, 0.01) is None


async def test_a_service_that_is_withdrawn_is_forgotten() -> None:
    rig = Rig()
    health = await site(rig)
    tell(health, a=())
    await rig.declare(fleet(service("other")))
    health.look()
    assert set(health.picture.services) == {"other"}
    assert health.generation == 2


async def test_orders_are_asked_for_and_end() -> None:
    health = await site(Rig())
    tell(health, a=())
    given = Orders(centers={EAST: CenterEvent.EVACUATE})
    health.orders = lambda: given
    health.poke()
    health.look()
    assert health.picture.centers[EAST].state is CenterState.EVACUATED
    health.orders = Orders
    health.look()
    assert health.picture.centers[EAST].state is CenterState.SERVING


async def test_a_restart_goes_on_from_the_last_picture() -> None:
    rig, store = Rig(), MemoryHealthStore()
    health = await site(rig, store)
    tell(health, a=(EAST,), b=(EAST,))
    store.kept = health.picture
    again = watch(rig.fleets, rig.instruments, store)
    await again.restore()
    again.look()
    assert again.picture.down("tickets", EAST)
    # One alone is no majority of those who were known before.
    tell(again, a=())
    assert again.picture.down("tickets", EAST)
    tell(again, b=())
    assert not again.picture.down("tickets", EAST)


async def test_a_first_start_has_nothing_to_go_on_from() -> None:
    health = watch(Rig().fleets, Rig().instruments)
    await health.restore()
    health.look()
    assert health.picture.services == {}
    health.leave("nobody")


async def test_requests_that_fail_are_told_and_time_brings_the_cluster_back() -> None:
    rig = Rig()
    health = await site(rig)
    tell(health, a=())
    place = ("tickets", EAST, "")
    for client in ("x", "x", "x"):
        health.tell(client, place, 0, 50)
    health.look()
    assert codes(rig) == {"requests_fail_for_one"}
    for client in ("y", "x"):
        health.tell(client, place, 0, 50)
    health.look()
    assert health.picture.down("tickets", EAST)
    for _ in range(12):
        rig.clock.time_s += 3.0
        tell(health, a=())
    assert not health.picture.down("tickets", EAST)
    assert codes(rig) == set()
    rig.clock.time_s += 1_000.0
    tell(health, a=())
    tell(health, a=())
    assert health.passive.failing == frozenset()


async def test_a_cluster_whose_requests_failed_stays_out_over_a_restart() -> None:
    rig, store = Rig(), MemoryHealthStore()
    health = await site(rig, store)
    tell(health, a=())
    for client in ("x", "y", "x", "y"):
        health.tell(client, ("tickets", EAST, ""), 0, 50)
    health.look()
    assert health.picture.down("tickets", EAST)
    store.kept, out = health.picture, health.out
    again = watch(rig.fleets, rig.instruments, store)
    await again.restore()
    for _ in range(5):
        rig.clock.time_s += 1.0
        tell(again, a=())
        assert again.out == out
    # Its time out begins again; after it checks that pass bring it back, as without a restart.
    for _ in range(12):
        rig.clock.time_s += 3.0
        tell(again, a=())
    assert again.out == {}


class Running:
    """A watch that runs with a prober of its own on real time."""

    def __init__(self, store: MemoryHealthStore | None = None) -> None:
        self.rig = Rig()
        self.rig.clock = ticking = Ticking()
        self.rig.instruments = replace(self.rig.instruments, now=ticking.now)
        self.checker = FakeChecker()
        self.store = store or MemoryHealthStore()
        self.health = watch(self.rig.fleets, self.rig.instruments, self.store, self.checker)

    async def __aenter__(self) -> "Running":
        check = HealthCheck(interval_ms=60, timeout_ms=40)
        await self.rig.declare(fleet(replace(SHOP, health_check=check)))
        await self.health.restore()
        self.task = asyncio.create_task(self.health.run())
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def until_down(self, down: bool) -> float:
        started_s = time.monotonic()
        async with asyncio.timeout(DEADLINE_S):
            number = -1
            while self.health.picture.down("tickets", EAST) is not down:
                number = self.health.picture.number
                await self.health.changed_since(number, 0.1)
        return time.monotonic() - started_s

    async def until_well(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while {one.state for one in self.health.picture.endpoints().values()} != {
                EndpointState.HEALTHY
            }:
                await asyncio.sleep(0.01)


class Ticking:
    """The real time behind the rig's clock."""

    time_s = 0.0

    def now(self) -> float:
        return time.time()


async def test_its_own_probes_find_a_dead_centre_at_once() -> None:
    async with Running() as running:
        await running.until_well()
        assert [one.state for one in running.health.picture.observers] == [ObserverState.HEARD]
        assert running.health.picture.observers[0].name == OWN_NAME
        running.checker.dead.update(range(9001, 9009))
        assert await running.until_down(True) < 1.0
        running.checker.dead.clear()
        await running.until_down(False)
        async with asyncio.timeout(DEADLINE_S):
            while running.store.kept is None:
                await asyncio.sleep(0.01)


async def test_first_judgments_of_what_is_well_take_nothing_out_also_after_a_restart() -> None:
    running = Running()
    told: list[object] = []
    running.health.told = lambda: told.append(running.health.out)
    async with running:
        await running.until_well()
        early = running.store.kept
    assert told == []
    # Killed within the second after its first picture, the next process knows only that one.
    assert early is not None
    assert early.number < running.health.picture.number
    again = Running(MemoryHealthStore(kept=early))
    again.health.told = lambda: told.append(again.health.out)
    async with again:
        await again.until_well()
    assert (told, again.health.out) == ([], {})


async def test_its_own_probes_go_on_from_the_last_picture() -> None:
    async with Running() as running:
        await running.until_well()
        running.checker.dead.update(range(9001, 9009))
        await running.until_down(True)
        kept = running.health.picture
    async with Running(MemoryHealthStore(kept=kept)) as again:
        assert again.health.picture.down("tickets", EAST)
        # Out for 16 intervals at least: one pass is not enough for what was judged before.
        await asyncio.sleep(0.3)
        assert again.health.picture.down("tickets", EAST)
        await again.until_down(False)


@pytest.mark.parametrize("away", [True, False])
async def test_a_store_that_is_away_is_tried_again(away: bool) -> None:
    store = MemoryHealthStore(away=away)
    async with Running(store) as running:
        await running.until_well()
        store.away = False
        async with asyncio.timeout(DEADLINE_S):
            while store.kept is None:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("turns", range(4))
async def test_a_stop_is_never_lost_to_news_at_the_same_moment(turns: int) -> None:
    running = Running()
    await running.__aenter__()
    await running.until_well()
    await asyncio.sleep(0.05)
    running.health.poke()
    for _ in range(turns):
        await asyncio.sleep(0)
    running.task.cancel()
    done, _ = await asyncio.wait({running.task}, timeout=2.0)
    running.task.cancel()
    assert done
