import re
from pathlib import Path

import httpx

from controlplane.api.app import create_app
from tests import builders
from tests.api.house import House

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"
FAMILY = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)


async def exposition(house: House, client: httpx.AsyncClient) -> str:
    await house.declare()
    await house.intake.accept([builders.sample(time_s=house.clock.now()), builders.sample("x")])
    await house.tick()
    await client.get("/v1/weights")
    await client.get("/no/such/address")
    return (await client.get("/metrics")).text


async def test_what_happened_is_counted(house: House, admin: httpx.AsyncClient) -> None:
    lines = (await exposition(house, admin)).splitlines()
    for line in (
        'signalbox_http_requests_total{method="GET",route="/v1/weights",status="200"} 1.0',
        'signalbox_http_requests_total{method="GET",route="other",status="404"} 1.0',
        "signalbox_snapshot_revision 1.0",
        "signalbox_fleet_generation 1.0",
        'signalbox_samples_total{outcome="accepted"} 1.0',
        'signalbox_samples_total{outcome="refused"} 1.0',
        'signalbox_gateways{plane="envoy"} 2.0',
        'signalbox_gateways_refusing{plane="envoy"} 1.0',
        'signalbox_gateway_acks_total{plane="envoy"} 3.0',
        'signalbox_gateway_nacks_total{plane="envoy"} 1.0',
        'signalbox_delivery_state{plane="envoy",state="waiting"} 1.0',
    ):
        assert line in lines
    decisions = [line for line in lines if line.startswith("signalbox_decisions_total")]
    assert sum(float(line.rpartition(" ")[2]) for line in decisions) == 1.0


async def test_every_metric_is_documented_and_every_documented_metric_is_there(
    house: House, admin: httpx.AsyncClient
) -> None:
    served = dict(FAMILY.findall(await exposition(house, admin)))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", DOCS.read_text(), re.MULTILINE)
    assert dict(rows) == served


async def test_two_applications_in_one_process_count_apart(
    house: House, admin: httpx.AsyncClient
) -> None:
    await admin.get("/healthz")
    other = create_app(house.app.state.services)
    transport = httpx.ASGITransport(app=other)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        assert "/healthz" not in (await client.get("/metrics")).text


async def test_label_values_do_not_grow_with_what_callers_send(
    house: House, admin: httpx.AsyncClient
) -> None:
    for index in range(20):
        await admin.request(f"M{index}", f"/x{index}")
        await admin.get(f"/v1/services/s{index}")
    text = (await admin.get("/metrics")).text
    assert "/x1" not in text
    assert "M1" not in text
    assert text.count('route="/v1/services/{name}"') < 30
