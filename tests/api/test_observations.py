"""/v1/health and /v1/observations."""

import httpx

from controlplane.domain.access import AccessRole
from controlplane.domain.health.states import EndpointState
from controlplane.engine.health.observers import MOST_OBSERVERS
from tests.api.house import House


def opinion(port: int, state: str, center: str = "beijing-1") -> dict[str, object]:
    return {
        "service": "tickets",
        "datacenter": center,
        "address": "127.0.0.1",
        "port": port,
        "state": state,
        "words": "refused" if state == "unhealthy" else "",
    }


EAST = range(9001, 9009)
WEST = range(9101, 9106)


async def report(client: httpx.AsyncClient, name: str, *dead: int) -> dict[str, object]:
    rows = [opinion(p, "unhealthy" if p in dead else "healthy") for p in EAST]
    rows += [opinion(p, "unhealthy" if p in dead else "healthy", "beijing-2") for p in WEST]
    answer = await client.post("/v1/observations", json={"observer": name, "opinions": rows})
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def test_an_observer_asks_reports_and_is_believed(house: House) -> None:
    await house.declare()
    house.health.look()
    async with house.client(AccessRole.GATEWAY) as gateway:
        told = (await gateway.get("/v1/health/targets?observer=rack-7")).json()
        assert len(told["targets"]) == 13
        first = told["targets"][0]
        assert (first["kind"], first["path"], first["interval_ms"]) == ("http", "/healthz", 250)
        taken = await report(gateway, "rack-7", 9001)
        assert (taken["accepted"], taken["unknown"]) == (13, 0)
        assert taken["generation"] == told["generation"] == 1
    house.health.look()
    async with house.client(AccessRole.VIEWER) as viewer:
        found = (await viewer.get("/v1/health")).json()
        assert [one["state"] for one in found["observers"]] == ["heard"]
        assert [one["state"] for one in found["datacenters"]] == ["degraded", "serving"]
        (service,) = found["services"]
        (cluster,) = service["datacenters"][0]["clusters"]
        assert cluster["usable_share"] == 7 / 8
        assert cluster["endpoints"][0] | {"since": ""} == {
            "endpoint": "127.0.0.1:9001",
            "state": "unhealthy",
            "usable": False,
            "flapping": False,
            "since": "",
            "why": "refused",
        }
        assert (await viewer.get("/v1/health?service=other")).json()["services"] == []
        findings = (await viewer.get("/v1/findings?source=health")).json()["items"]
        assert [one["code"] for one in findings] == ["endpoints_unhealthy"]


async def test_an_observer_that_leaves_counts_no_more(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "a")
    await report(admin, "b")
    house.health.look()
    assert len(house.health.picture.observers) == 2
    await admin.post("/v1/observations", json={"observer": "b", "leaving": True})
    house.health.look()
    assert [one.name for one in house.health.picture.observers] == ["a"]


async def test_what_is_not_declared_does_not_count(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    house.health.look()
    body = {"observer": "a", "opinions": [opinion(1, "healthy"), opinion(9001, "healthy")]}
    taken = (await admin.post("/v1/observations", json=body)).json()
    assert (taken["accepted"], taken["unknown"]) == (1, 1)


async def test_nobody_speaks_in_our_name(house: House, admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/v1/observations", json={"observer": "control-plane"})
    assert (answer.status_code, answer.json()["code"]) == (409, "observer_name_taken")
    assert (await admin.post("/v1/observations", json={"observer": "a b"})).status_code == 422


async def test_outcomes_of_two_tokens_take_a_cluster_out(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "a")
    house.health.look()
    row = {"service": "tickets", "datacenter": "beijing-1", "served": 1, "error": 40, "timeout": 9}
    async with house.client(AccessRole.GATEWAY) as gateway:
        for client in (admin, gateway, admin):
            answer = await client.post("/v1/outcomes", json={"client": "shop", "outcomes": [row]})
            assert answer.status_code == 202
    house.health.look()
    assert house.health.picture.down("tickets", "beijing-1")
    states = {one.state for one in house.health.picture.endpoints().values()}
    assert states == {EndpointState.HEALTHY}
    codes = {f.observation.code for f in house.instruments.findings.standing()}
    assert {"datacenter_down", "requests_fail"} <= codes


async def test_health_is_measured(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "a", *EAST, *WEST)
    house.health.look()
    text = (await admin.get("/metrics")).text
    assert 'signalbox_endpoints{state="unhealthy"} 13.0' in text
    assert "signalbox_services_all_down 1.0" in text
    assert 'signalbox_observers{state="heard"} 1.0' in text
    assert 'signalbox_probes_total{outcome="passed"} 0.0' in text
    assert "signalbox_endpoint_state_changes_total 13.0" in text


async def test_nobody_speaks_in_the_name_of_an_observer_that_is_heard(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "rack-7")
    async with house.client(AccessRole.GATEWAY) as gateway:
        for body in ({"observer": "rack-7"}, {"observer": "rack-7", "leaving": True}):
            answer = await gateway.post("/v1/observations", json=body)
            assert (answer.status_code, answer.json()["code"]) == (409, "observer_name_taken")
        house.clock.time_s += 4.0
        await report(gateway, "rack-7")


async def test_there_is_a_limit_to_observers(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    house.health.look()
    for number in range(MOST_OBSERVERS):
        house.health.observe(f"rack-{number}", {})
    answer = await admin.post("/v1/observations", json={"observer": "one-more"})
    assert (answer.status_code, answer.json()["code"]) == (403, "observers_full")
    assert (await admin.post("/v1/observations", json={"observer": "rack-0"})).status_code == 202


async def test_one_token_is_one_observer_whatever_names_it_gives(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "own")
    async with house.client(AccessRole.GATEWAY) as gateway:
        for name in ("rack-1", "rack-2", "rack-3"):
            await report(gateway, name, *EAST)
    house.health.look()
    assert house.health.picture.centers["beijing-1"].down is False
    (found,) = house.instruments.findings.standing()
    assert found.observation.code == "observers_share_token"
    assert "rack-1, rack-2, rack-3" in found.observation.message
    await report(admin, "own", *EAST)
    house.health.look()
    assert house.health.picture.centers["beijing-1"].down


async def test_clients_of_one_token_are_one_reporter(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    house.health.look()
    await report(admin, "a")
    house.health.look()
    row = {"service": "tickets", "datacenter": "beijing-1", "served": 1, "error": 40, "timeout": 9}
    for client in ("shop-1", "shop-2", "shop-1"):
        answer = await admin.post("/v1/outcomes", json={"client": client, "outcomes": [row]})
        assert answer.status_code == 202
    house.health.look()
    assert not house.health.picture.down("tickets", "beijing-1")
    codes = {f.observation.code for f in house.instruments.findings.standing()}
    assert codes == {"requests_fail_for_one"}
