"""MinuteStore: raw samples become minute means once, in order, and are dropped when old."""

from dataclasses import replace

import pytest

from controlplane.domain.telemetry import Sample
from tests.ports.conftest import Stores
from tests.ports.examples import sample

AFTER_ALL = (-1.0, "")


async def minutes(stores: Stores, service: str = "tickets") -> list[Sample]:
    return await stores.minutes.page(service, AFTER_ALL)


async def test_nothing_to_do(stores: Stores) -> None:
    assert await stores.minutes.condense(1e9) == 0
    assert await minutes(stores) == []
    assert await stores.minutes.prune(1e9) == 0


async def test_whole_minutes_before_a_time_move_and_the_rest_stays(stores: Stores) -> None:
    raw = [sample(60), sample(119.5), sample(120), sample(185), sample(60, service="video")]
    await stores.samples.append(raw)
    assert await stores.minutes.condense(before_s=179) == 3
    assert await stores.samples.since("tickets", 0) == [sample(120), sample(185)]
    assert await minutes(stores) == [sample(119.5)]
    assert await minutes(stores, "video") == [sample(60, service="video")]
    assert await stores.minutes.condense(before_s=179) == 0


async def test_the_mean_is_by_request_and_missing_stays_missing(stores: Stores) -> None:
    fast = replace(sample(60), response_time_ms=10.0, request_rate_rps=90.0, disk=0.0)
    slow = replace(sample(90), response_time_ms=110.0, request_rate_rps=10.0, suspicion=None)
    await stores.samples.append([fast, slow])
    await stores.minutes.condense(120)
    (mean,) = await minutes(stores)
    assert mean.response_time_ms == pytest.approx(20.0)
    assert (mean.request_rate_rps, mean.disk, mean.memory) == (50.0, 0.0, None)
    assert (mean.time_s, mean.received_s) == (90, 91.5)


async def test_late_ones_join_the_minute_that_is_there(stores: Stores) -> None:
    await stores.samples.append(
        [replace(sample(60), cpu_avg=0.2), replace(sample(61), cpu_avg=0.2)]
    )
    await stores.minutes.condense(120)
    await stores.samples.append([replace(sample(65), cpu_avg=0.8)])
    assert await stores.minutes.condense(120) == 1
    (mean,) = await minutes(stores)
    assert mean.cpu_avg == pytest.approx(0.4)
    assert await stores.samples.since("tickets", 0) == []


async def test_a_late_one_leaves_other_data_centres_alone(stores: Stores) -> None:
    await stores.samples.append([sample(60), sample(60, "west")])
    await stores.minutes.condense(120)
    await stores.samples.append([replace(sample(70), cpu_avg=0.9)])
    await stores.minutes.condense(120)
    west, east = await minutes(stores)
    assert west == sample(60, "west")
    assert (east.time_s, east.cpu_avg) == (70, pytest.approx(0.7))


async def test_many_move_in_several_transactions_and_none_twice(stores: Stores) -> None:
    raw = [sample(n / 4, center) for n in range(3_000) for center in ("east", "west")]
    await stores.samples.append(raw)
    assert await stores.minutes.condense(600) == 4_800
    assert len(await stores.samples.since("tickets", 0)) == 1_200
    made = await minutes(stores)
    assert [(s.time_s, s.datacenter) for s in made] == [
        (60.0 * n + 59.75, center) for n in range(10) for center in ("east", "west")
    ]
    assert {s.cpu_avg for s in made} == {0.5}


async def test_page_by_page_by_time_then_data_centre(stores: Stores) -> None:
    raw = [
        sample(60.0 * n + 5 * (name == "east"), name)
        for n in range(30)
        for name in ("east", "west")
    ]
    await stores.samples.append(raw)
    await stores.minutes.condense(1e6)
    whole = await minutes(stores)
    assert whole == sorted(raw, key=lambda s: (s.time_s, s.datacenter))
    after = (whole[10].time_s, whole[10].datacenter)
    assert await stores.minutes.page("tickets", after) == whole[11:]
    assert await stores.minutes.page("tickets", (1e11, "")) == []


async def test_more_than_one_page(stores: Stores) -> None:
    raw = [sample(60.0 * n) for n in range(5_200)]
    await stores.samples.append(raw)
    await stores.minutes.condense(1e6)
    found: list[Sample] = []
    after = AFTER_ALL
    while page := await stores.minutes.page("tickets", after):
        found += page
        after = (page[-1].time_s, page[-1].datacenter)
    assert found == raw


async def test_prune_drops_what_is_older(stores: Stores) -> None:
    await stores.samples.append([sample(60), sample(120), sample(60, service="video")])
    await stores.minutes.condense(1e6)
    assert await stores.minutes.prune(before_s=125) == 2
    assert await minutes(stores) == [sample(120)]
    assert await minutes(stores, "video") == []
    assert await stores.minutes.prune(before_s=125) == 0
