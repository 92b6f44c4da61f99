"""Retraining asks at every cycle, and submits once."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from controlplane.domain.guardrails.ledger import Ledger, Pair
from controlplane.domain.guardrails.state import Demotion, GuardState
from controlplane.domain.jobs import JobTrigger
from controlplane.domain.retraining import RetrainingLimits
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.domain.topology import Datacenter, Role
from controlplane.engine.learning.jobs import Trainings
from controlplane.engine.learning.retraining import AUTHOR, Retraining, RetrainingParts
from tests.builders import cluster, fleet, sample, service
from tests.engine.learning.test_jobs import Bench, bench
from tests.engine.rig import START_S, Rig

DAY_S = 86_400.0
MODEL = LearnedModel(digest="m1", residual_spread=0.05)


async def learning(rig: Rig, *names: str) -> tuple[Bench, Retraining]:
    services = [service(name, StrategyName.HYBRID) for name in names or ("tickets",)]
    await rig.declare(fleet(*services, service("plain", StrategyName.CPU_EQUALIZER)))
    b = await bench(rig)
    await b.end()
    parts = RetrainingParts(
        fleets=rig.fleets,
        jobs=b.jobs,
        models=rig.models,
        samples=rig.stores.samples,
        decisions=lambda: rig.loop.decisions,
    )
    return b, Retraining(parts, RetrainingLimits(), rig.instruments)


async def report_for(rig: Rig, seconds: float, name: str = "tickets") -> None:
    count = math.ceil(seconds / 60.0)
    times = [rig.clock.now() - 60.0 * n for n in range(count)]
    samples = [sample(c, t) for t in times for c in ("beijing-1", "beijing-2")]
    await rig.stores.samples.append([replace(one, service=name) for one in samples])


def triggers(b: Bench) -> Iterator[tuple[str, JobTrigger]]:
    return ((job.service, job.trigger) for job in b.jobs.open.values())


async def remember(rig: Rig, **changes: object) -> None:
    """Give the newest decision of the service a state."""
    await rig.measure()
    await rig.tick()
    decision = rig.loop.decisions["tickets"]
    state = replace(decision.state, **changes)  # type: ignore[arg-type]
    rig.loop._decisions["tickets"] = replace(decision, state=state)


def ledger(error: float, digest: str = "m1") -> Ledger:
    pairs = (
        Pair(
            time_s=START_S + 300.0 * cycle,
            predicted_ms=100.0 * (1 + error) if math.isfinite(error) else None,
            realised_ms=100.0,
            persisted_ms=100.0,
            span=0.1,
        )
        for cycle in range(6)
    )
    return Ledger(model=digest, pairs=tuple(pairs))


async def test_the_first_training_when_a_day_is_known_and_only_of_learned_strategies() -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    await report_for(rig, DAY_S, "plain")
    await report_for(rig, DAY_S / 2)
    await retraining.look()
    assert list(triggers(b)) == []
    await report_for(rig, DAY_S + 120.0)
    await retraining.look()
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)]
    (job,) = b.jobs.open.values()
    assert job.author == AUTHOR.name
    assert job.reason


@pytest.mark.parametrize(
    ("strategy", "role", "trained"),
    [
        (StrategyName.HYBRID, Role.SAME_CITY, True),
        (StrategyName.PAPER_MLP, Role.SAME_CITY, False),
        (StrategyName.HYBRID, Role.CLOUD, False),
    ],
    ids=["laws", "network", "reserve"],
)
async def test_more_than_two_centers_are_trained_when_all_bear_traffic(
    strategy: StrategyName, role: Role, trained: bool
) -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    third = cluster("shanghai-1", 40.0, range(9201, 9205))
    two = service("tickets", strategy)
    declared = fleet(replace(two, clusters=(*two.clusters, third)))
    datacenters = (*declared.datacenters, Datacenter(name="shanghai-1", role=role, region="east"))
    await rig.declare(replace(declared, datacenters=datacenters))
    await report_for(rig, DAY_S + 120.0)
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)] * trained


async def test_a_week_later_and_not_before() -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    b.jobs._trainings["tickets"] = Trainings(tried_s=START_S, trained_s=START_S)
    rig.clock.time_s += 7 * DAY_S - 1
    await retraining.look()
    assert list(triggers(b)) == []
    rig.clock.time_s += 1
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"ledger": ledger(0.2)}, JobTrigger.EARLY),
        ({"ledger": ledger(math.inf)}, JobTrigger.EARLY),
        ({"ledger": ledger(0.1)}, None),
        ({"ledger": ledger(0.2, "another")}, None),
        ({"demotion": Demotion(model="m1", time_s=START_S, reason="no skill")}, JobTrigger.EARLY),
    ],
)
async def test_the_live_error_decides(
    changes: dict[str, object], wanted: JobTrigger | None
) -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    rig.stores.models.put("tickets", "champion", MODEL)
    await rig.models.restore()
    earlier_s = START_S - DAY_S
    b.jobs._trainings["tickets"] = Trainings(tried_s=earlier_s, trained_s=earlier_s)
    await remember(rig, **changes)
    await retraining.look()
    assert list(triggers(b)) == ([] if wanted is None else [("tickets", wanted)])


async def test_slow_drift_is_seen_over_more_than_a_ledger_holds() -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    rig.stores.models.put("tickets", "champion", MODEL)
    await rig.models.restore()
    earlier_s = START_S - DAY_S
    b.jobs._trainings["tickets"] = Trainings(tried_s=earlier_s, trained_s=earlier_s)
    # Below what six cycles allow (0.12), but always on the same side.
    drifting = ledger(0.08)
    for hour in range(8):
        pairs = tuple(replace(p, time_s=p.time_s + 1800.0 * hour) for p in drifting.pairs)
        await remember(rig, ledger=replace(drifting, pairs=pairs))
        await retraining.look()
        assert (list(triggers(b)) != []) == (hour >= 3), hour
    (job,) = b.jobs.open.values()
    assert (job.trigger, "drifted" in job.reason) == (JobTrigger.EARLY, True)


async def test_a_model_that_came_by_hand_is_as_new_as_its_place() -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    await report_for(rig, 2 * DAY_S)
    rig.stores.models.put("tickets", "champion", MODEL)
    await rig.models.restore()
    rig.models._since_s["tickets"] = START_S
    await retraining.look()
    assert list(triggers(b)) == []
    rig.clock.time_s += 7 * DAY_S
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)]


async def test_not_while_a_model_is_on_trial() -> None:
    rig = Rig()
    b, retraining = await learning(rig)
    await report_for(rig, 2 * DAY_S)
    rig.models._shadows["tickets"] = MODEL
    await retraining.look()
    assert list(triggers(b)) == []
    del rig.models._shadows["tickets"]
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)]


async def test_a_store_that_is_away_is_for_the_next_cycle() -> None:
    rig = Rig()
    b, retraining = await learning(rig, "tickets", "video")
    await report_for(rig, DAY_S + 120.0)
    rig.stores.outage.away = True
    await retraining.look()
    assert list(triggers(b)) == []
    rig.stores.outage.away = False
    await retraining.look()
    assert list(triggers(b)) == [("tickets", JobTrigger.WEEKLY)]


def test_a_new_state_has_no_errors() -> None:
    assert GuardState().ledger.pairs == ()
