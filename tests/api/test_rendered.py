from dataclasses import replace
from pathlib import Path

import httpx

from controlplane.domain.topology import GatewayGroup
from controlplane.proxies import proxy_planes, renderings
from controlplane.settings import CaddyGateway, HaproxyGateway, NginxGateway, Settings
from tests import builders
from tests.api.house import House


async def test_files_of_each_plane_are_shown_to_those_who_read_the_configuration(
    house: House, admin: httpx.AsyncClient, tmp_path: Path
) -> None:
    services = house.app.state.services
    settings = Settings(nginx=NginxGateway(group="edge", directory=tmp_path))
    house.app.state.services = replace(services, renderings=renderings(settings))
    assert (await admin.get("/v1/config/rendered?plane=nginx")).json()["code"] == "no_snapshot"
    await house.declare(builders.fleet())
    for plane, file, words in (
        ("haproxy", "haproxy.cfg", "backend s.tickets"),
        ("nginx", "nginx.conf", str(tmp_path)),
        ("caddy", "caddy.json", "signalbox"),
        ("envoy", "route/rules.json", '"cluster": "tickets"'),
    ):
        answer = (await admin.get(f"/v1/config/rendered?plane={plane}&group=edge")).json()
        assert (answer["group"], answer["notes"]) == ("edge", [])
        assert words in {one["name"]: one["text"] for one in answer["files"]}[file]
    other = await admin.get("/v1/config/rendered?plane=nginx&group=other")
    assert other.json()["code"] == "gateway_group_not_found"


async def test_of_several_groups_one_must_be_named(house: House, admin: httpx.AsyncClient) -> None:
    services = house.app.state.services
    house.app.state.services = replace(services, renderings=renderings(Settings()))
    groups = (GatewayGroup(name="edge"), GatewayGroup(name="inner", listen_port=10_001))
    await house.declare(replace(builders.fleet(), gateways=groups))
    answer = (await admin.get("/v1/config/rendered?plane=haproxy")).json()
    assert answer["code"] == "gateway_group_needed"
    assert "edge, inner" in answer["detail"]


def test_the_proxies_of_the_settings_are_planes(tmp_path: Path) -> None:
    settings = Settings(
        haproxy=HaproxyGateway(group="edge", directory=tmp_path),
        nginx=NginxGateway(group="inner", directory=tmp_path),
        caddy=CaddyGateway(group="edge"),
    )
    assert [plane.name for plane in proxy_planes(settings)] == ["haproxy", "nginx", "caddy"]
    assert proxy_planes(Settings()) == ()
