import asyncio

import httpx
import pytest

from controlplane.api.edge.conditional import matches
from controlplane.domain import snapshot as snapshots
from controlplane.domain.access import AccessRole
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.wire import decoded
from controlplane.domain.snapshot import Section
from controlplane.engine.access import TokenRequest
from tests import builders
from tests.api.house import AUTHOR, House

PATHS = {
    "/v1/config": None,
    "/v1/weights": Section.WEIGHTS,
    "/v1/routes": Section.ROUTES,
    "/v1/policies": Section.ADMISSION,
}


@pytest.fixture
async def gateway(house: House):  # type: ignore[no-untyped-def]
    async with house.client(AccessRole.GATEWAY) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
async def test_before_the_first_snapshot_it_says_when_to_ask_again(
    gateway: httpx.AsyncClient, path: str
) -> None:
    response = await gateway.get(path)
    assert (response.status_code, response.json()["code"]) == (503, "no_snapshot")
    assert "retry-after" in response.headers


@pytest.mark.parametrize(("path", "section"), PATHS.items())
async def test_bodies_are_the_snapshots_bytes_with_a_strong_tag(
    house: House, gateway: httpx.AsyncClient, path: str, section: Section | None
) -> None:
    await house.declare()
    current = house.publication.current
    assert current is not None
    response = await gateway.get(path)
    digest = current.version if section is None else current.digests[section]
    assert response.headers["etag"] == f'"{digest}"'
    assert response.headers["x-signalbox-revision"] == "1"
    assert "stale-if-error" in response.headers["cache-control"]
    if section is None:
        assert snapshots.decode(response.content, 1) == current
    else:
        assert response.content == current.sections[section]


@pytest.mark.parametrize("path", PATHS)
async def test_304_comes_from_memory_without_encoding(
    house: House, gateway: httpx.AsyncClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.declare()
    etag = (await gateway.get(path)).headers["etag"]
    house.outage.away = True
    monkeypatch.setattr(snapshots, "encode", None)
    monkeypatch.setattr("controlplane.domain.canonical.encode", None)
    response = await gateway.get(path, headers={"If-None-Match": etag})
    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["etag"] == etag


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        (None, False),
        ("", False),
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ('"b"', False),
        ("a", False),
    ],
)
def test_conditions_are_read_as_the_standard_says(condition: str | None, held: bool) -> None:
    assert matches(condition, '"a"') is held


async def test_a_long_poll_returns_the_change_at_once(
    house: House, gateway: httpx.AsyncClient
) -> None:
    await house.declare()
    etag = (await gateway.get("/v1/routes")).headers["etag"]
    poll = asyncio.create_task(
        gateway.get("/v1/routes?wait=30", headers={"If-None-Match": etag}, timeout=10)
    )
    await asyncio.sleep(0.02)
    await house.declare(builders.fleet(builders.service(), builders.service("news")))
    response = await poll
    assert (response.status_code, response.headers["x-signalbox-revision"]) == (200, "2")


async def test_a_long_poll_ends_with_304_and_ignores_other_sections(
    house: House, gateway: httpx.AsyncClient
) -> None:
    await house.declare()
    etag = (await gateway.get("/v1/policies")).headers["etag"]
    poll = asyncio.create_task(
        gateway.get("/v1/policies?wait=0.2", headers={"If-None-Match": etag})
    )
    await asyncio.sleep(0.02)
    await house.declare(builders.fleet(builders.service(), builders.service("news")))
    response = await poll
    assert (response.status_code, response.headers["x-signalbox-revision"]) == (304, "2")


async def test_a_long_poll_waits_for_the_first_snapshot(
    house: House, gateway: httpx.AsyncClient
) -> None:
    assert (await gateway.get("/v1/weights?wait=0.05")).status_code == 503
    poll = asyncio.create_task(gateway.get("/v1/weights?wait=30"))
    await asyncio.sleep(0.02)
    await house.declare()
    assert (await poll).status_code == 200


async def test_a_gateway_is_recorded_with_what_it_proved_to_hold(
    house: House, gateway: httpx.AsyncClient
) -> None:
    await house.declare()
    identity = {"X-Signalbox-Gateway": "edge-7;edge"}
    etag = (await gateway.get("/v1/config", headers=identity)).headers["etag"]
    assert house.consumers.nodes(house.clock.now()) == []
    await gateway.get("/v1/config", headers={**identity, "If-None-Match": etag})
    (node,) = house.consumers.nodes(house.clock.now())
    assert (node.name, node.group, node.revision) == ("edge-7", "edge", 1)


async def test_an_identity_is_checked(house: House, gateway: httpx.AsyncClient) -> None:
    await house.declare()
    response = await gateway.get("/v1/config", headers={"X-Signalbox-Gateway": "no group"})
    assert response.json()["code"] == "gateway_identity_invalid"
    request = TokenRequest(name="bound", role=AccessRole.GATEWAY, node="edge-1")
    _, secret = await house.access.issue(request, AUTHOR, "")
    headers = {"Authorization": f"Bearer {secret}", "X-Signalbox-Gateway": "edge-2;edge"}
    response = await gateway.get("/v1/config", headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "wrong_node")


async def test_a_reader_that_may_not_subscribe_is_not_recorded(house: House) -> None:
    await house.declare()
    async with house.client(AccessRole.VIEWER) as viewer:
        headers = {"X-Signalbox-Gateway": "edge-1;edge", "If-None-Match": "*"}
        assert (await viewer.get("/v1/config", headers=headers)).status_code == 304
    assert house.consumers.nodes(house.clock.now()) == []


async def test_the_routes_of_a_group_come_as_the_tree_that_it_matches_with(house: House) -> None:
    await house.declare()
    async with house.client(AccessRole.GATEWAY) as client:
        first = await client.get("/v1/routes", params={"gateway": "edge"})
        held = {"If-None-Match": first.headers["etag"]}
        again = await client.get("/v1/routes", params={"gateway": "edge"}, headers=held)
        unknown = await client.get("/v1/routes", params={"gateway": "nowhere"})
        whole = await client.get("/v1/routes")
    assert (first.status_code, again.status_code, unknown.status_code) == (200, 304, 404)
    assert unknown.json()["code"] == "gateway_group_not_found"
    assert first.headers["etag"] != whole.headers["etag"]
    request = Request.of("/tickets/7")
    assert isinstance(request, Request)
    found = decoded(first.content).match(request, 0.0).route
    assert found is not None
    assert found.id == "tickets-all"
