"""SampleStore: by key, in order, dropped when old."""

from dataclasses import replace

from controlplane.domain.retraining import Coverage
from controlplane.domain.telemetry import Sample
from tests.ports.conftest import Stores
from tests.ports.examples import sample


async def test_nothing_stored(stores: Stores) -> None:
    await stores.samples.append([])
    assert await stores.samples.since("tickets", 0) == []


async def test_by_time_then_data_centre_from_a_time_on(stores: Stores) -> None:
    await stores.samples.append([sample(120, "west"), sample(60), sample(120), sample(180)])
    await stores.samples.append([sample(120, service="video")])
    found = await stores.samples.since("tickets", 120)
    assert found == [sample(120), sample(120, "west"), sample(180)]


async def test_missing_stays_missing_and_zero_stays_zero(stores: Stores) -> None:
    bare = Sample(
        datacenter="east", service="tickets", time_s=1, received_s=2, response_time_ms=3, disk=0.0
    )
    await stores.samples.append([bare])
    assert await stores.samples.since("tickets", 0) == [bare]


async def test_the_same_key_replaces(stores: Stores) -> None:
    later = replace(sample(60), response_time_ms=99.0, cpu_avg=None, memory=0.25)
    await stores.samples.append([sample(60)])
    await stores.samples.append([later])
    assert await stores.samples.since("tickets", 0) == [later]


async def test_more_than_one_batch(stores: Stores) -> None:
    samples = [sample(float(n)) for n in range(2_500)]
    await stores.samples.append(samples)
    assert await stores.samples.since("tickets", 0) == samples


async def test_page_by_page_in_the_same_order(stores: Stores) -> None:
    samples = [sample(float(n), name) for n in range(3_000) for name in ("east", "west")]
    await stores.samples.append(samples)
    found: list[Sample] = []
    after = (0.0, "west")
    while page := await stores.samples.page("tickets", after):
        found += page
        after = (page[-1].time_s, page[-1].datacenter)
    assert found == samples[2:]


async def test_coverage_counts_times_not_data_centres(stores: Stores) -> None:
    assert await stores.samples.coverage("tickets") == Coverage()
    assert await stores.samples.heard_s("tickets") is None
    await stores.samples.append([sample(60), sample(60, "west"), sample(180)])
    assert await stores.samples.coverage("tickets") == Coverage(first_s=60.0, rows=2)
    assert await stores.samples.heard_s("tickets") == 180.0
