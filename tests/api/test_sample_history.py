"""Old samples over the API: minute means with their resolution, and in data sets."""

import httpx

from controlplane.domain.access import AccessRole
from tests import builders
from tests.api.house import START_S, House

CENTERS = ("beijing-1", "beijing-2")
ROWS = 6


async def aged(house: House) -> None:
    """Six minutes of both data centers, the first three condensed."""
    await house.declare()
    await house.samples.append(
        [
            builders.sample(name, START_S - 3_000 + 60.0 * n, cpu_avg=n / 10)
            for n in range(ROWS)
            for name in CENTERS
        ]
    )
    assert await house.minutes.condense(START_S - 3_000 + 180) == 6


async def test_each_sample_tells_its_resolution(house: House, admin: httpx.AsyncClient) -> None:
    await aged(house)
    items = (await admin.get("/v1/services/tickets/samples?since=0")).json()["items"]
    assert [one["resolution"] for one in items] == ["minute"] * 6 + ["raw"] * 6
    assert [one["cpu_avg"] for one in items[::2]] == [n / 10 for n in range(ROWS)]


async def test_until_ends_a_range(house: House, admin: httpx.AsyncClient) -> None:
    await aged(house)
    query = f"since={START_S - 2_940}&until={START_S - 2_820}"
    items = (await admin.get(f"/v1/services/tickets/samples?{query}")).json()["items"]
    assert [one["resolution"] for one in items] == ["minute"] * 4 + ["raw"] * 2
    early = await admin.get("/v1/services/tickets/samples?since=0&until=1970-01-02T00:00:00Z")
    assert early.json()["items"] == []


async def test_data_sets_reach_back_to_the_means(house: House) -> None:
    await aged(house)
    async with house.client(AccessRole.SCIENTIST) as client:
        lines = (await client.get("/v1/services/tickets/dataset")).text.splitlines()
    assert len(lines) == 1 + ROWS - 1
