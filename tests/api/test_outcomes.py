"""What applications' clients tell: sums by place, and in the metrics."""

import pytest

from controlplane.domain.access import AccessRole
from tests.api.house import House

ROW = {"service": "tickets", "datacenter": "beijing-1", "served": 90, "timeout": 2, "ejected": 1}


@pytest.fixture
async def open_house(house: House) -> House:
    await house.declare()
    return house


async def tell(house: House, *rows: dict[str, object]) -> tuple[int, object]:
    async with house.client(AccessRole.GATEWAY) as client:
        body = {"client": "orders-1", "outcomes": list(rows)}
        answer = await client.post("/v1/outcomes", json=body)
        return answer.status_code, answer.json()


async def test_counts_of_all_clients_are_summed_by_place(open_house: House) -> None:
    assert await tell(open_house, ROW) == (202, {"accepted": 1, "unknown": 0})
    other = {"service": "tickets", "datacenter": "beijing-2", "error": 3}
    await tell(open_house, {**ROW, "served": 10}, other)
    async with open_house.client(AccessRole.VIEWER) as client:
        items = (await client.get("/v1/outcomes")).json()["items"]
        metrics = (await client.get("/metrics")).text
    assert [(one["datacenter"], one["served"], one["error"], one["timeout"]) for one in items] == [
        ("beijing-1", 100, 0, 4),
        ("beijing-2", 0, 3, 0),
    ]
    assert items[0]["last"] == items[1]["last"]
    assert 'signalbox_client_outcomes_total{outcome="served"} 100.0' in metrics
    assert 'signalbox_client_outcomes_total{outcome="ejected"} 2.0' in metrics


async def test_what_is_not_declared_is_left_out_and_the_rest_counts(open_house: House) -> None:
    unknown = ({**ROW, "service": "gone"}, {**ROW, "datacenter": "x"}, {**ROW, "cluster": "x"})
    assert await tell(open_house, ROW, *unknown) == (202, {"accepted": 1, "unknown": 3})


@pytest.mark.parametrize("fault", [{"served": -1}, {"served": 0.5}, {"more": 1}])
async def test_what_is_no_count_is_refused(open_house: House, fault: dict[str, object]) -> None:
    status, problem = await tell(open_house, {**ROW, **fault})
    assert status == 422, problem


async def test_repeated_rows_of_one_report_are_one_word(open_house: House) -> None:
    bad = {"service": "tickets", "datacenter": "beijing-1", "error": 50}
    status, taken = await tell(open_house, *[bad] * 10_000)
    assert (status, taken) == (202, {"accepted": 10_000, "unknown": 0})
    (passive,) = open_house.health.passive._clusters.values()
    assert [(one.served, one.failed) for one in passive.tellings] == [(0, 500_000)]
