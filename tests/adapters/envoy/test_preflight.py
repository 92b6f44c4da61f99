"""The preflight and the bootstrap, judged by a real Envoy."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_pb2

from controlplane.adapters.envoy import bootstrap, preflight
from controlplane.adapters.envoy.ads import AdsOptions
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.clearance import ClearanceOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.adapters.envoy.preflight import Preflight, find_envoy
from controlplane.adapters.envoy.render import Renderer
from controlplane.api.fleet_document.reading import NAME
from controlplane.domain.errors import Invalid, Rejected, Retryable
from controlplane.domain.topology import GatewayGroup
from tests.adapters.envoy.site import SMALL, anybody, fleet, plane, prefix, service, snapshot


def parts() -> dict[str, bytes]:
    made = Renderer().render(snapshot(SMALL, 1)).parts
    return {name: data for name, data in made if not name.startswith("endpoint/")}


async def test_what_we_render_passes() -> None:
    await Preflight(binary=find_envoy()).check(parts().items())
    await Preflight(binary=None).check(parts().items())


async def test_groups_on_different_machines_may_have_the_same_port() -> None:
    groups = (GatewayGroup(name="a"), GatewayGroup(name="b"))
    made = Renderer().render(snapshot(replace(SMALL, gateways=groups), 1)).parts
    checked = [part for part in made if not part[0].startswith("endpoint/")]
    await Preflight(binary=find_envoy()).check(checked)


async def test_a_bad_cluster_is_refused_with_envoys_words() -> None:
    bad = cluster_pb2.Cluster(name="bad", type=cluster_pb2.Cluster.EDS)
    faulty = {"cluster/bad": bad.SerializeToString(), **parts()}
    with pytest.raises(Rejected, match="EDS"):
        await Preflight(binary=find_envoy()).check(faulty.items())


async def test_a_route_to_an_unknown_cluster_is_refused() -> None:
    message = route_pb2.RouteConfiguration.FromString(parts()["route/rules"])
    route = message.virtual_hosts.add(name="h", domains=["h.example"]).routes.add()
    route.match.prefix, route.route.cluster = "/", "nowhere"
    faulty = {**parts(), "route/rules": message.SerializeToString()}
    with pytest.raises(Rejected, match="nowhere"):
        await Preflight(binary=find_envoy()).check(faulty.items())


async def test_an_envoy_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    hanging = tmp_path / "envoy"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    with pytest.raises(Retryable, match="no answer"):
        await Preflight(binary=hanging, timeout_s=0.2).check(parts().items())


async def test_no_room_for_a_temporary_file_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Invalid, match="no temporary file can be written: No such file"):
        await Preflight(binary=find_envoy()).check(parts().items())
    one = plane()
    await one.apply(one.render(snapshot(SMALL, 1)))
    assert one.serving
    assert [found.code for found in await one.repair()] == ["envoy_preflight_unusable"]
    await one.stop()


async def test_weights_need_no_preflight(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []

    async def note(self: Preflight, given: object) -> None:
        checked.append(given)

    monkeypatch.setattr(Preflight, "check", note)
    one = plane()
    for revision, east in ((1, 0.5), (2, 0.6), (3, 0.7)):
        await one.apply(one.render(snapshot(SMALL, revision, east)))
    assert len(checked) == 1


@pytest.mark.parametrize(
    "options",
    [
        BootstrapOptions(node="edge-1", group="edge", token="sbx_secret"),
        BootstrapOptions(node="edge: 1", group="a", agent=None, control_plane=("cp.example", 18)),
    ],
)
async def test_the_bootstrap_is_valid(options: BootstrapOptions, tmp_path: Path) -> None:
    text = render(options)
    path = tmp_path / "envoy.yaml"
    path.write_text(text)
    binary = find_envoy()
    assert binary is not None
    process = await asyncio.create_subprocess_exec(
        binary, "--mode", "validate", "-c", str(path), stderr=asyncio.subprocess.PIPE
    )
    _, words = await process.communicate()
    assert process.returncode == 0, words.decode()
    assert ("Bearer sbx_secret" in text) == bool(options.token)
    assert text.count("priority:") == (2 if options.agent else 1)


def test_a_given_binary_is_taken(tmp_path: Path) -> None:
    assert find_envoy(tmp_path / "mine") == tmp_path / "mine"


@pytest.mark.parametrize(
    "name", ["xds", "signalbox-preflight", "routes", "edge", "x" * 63, "1.2-_"]
)
async def test_a_service_may_have_any_name(name: str) -> None:
    declared = fleet([service(name, [9001], [9101])], [prefix("all", name, "/")])
    made = Renderer().render(snapshot(declared, 1)).parts
    checked = [part for part in made if not part[0].startswith("endpoint/")]
    await Preflight(binary=find_envoy()).check(checked)
    for ours in (bootstrap.XDS_CLUSTER, preflight.XDS_CLUSTER):
        assert not NAME.fullmatch(ours)
    assert NAME.fullmatch(name)


async def test_weights_wait_for_no_check(tmp_path: Path) -> None:
    checker = tmp_path / "envoy"
    checker.write_text("#!/bin/sh\nexit 0\n")
    checker.chmod(0o755)
    one = EnvoyPlane(
        PlaneOptions(
            ads=AdsOptions(port=0),
            clearance=ClearanceOptions(preflight=Preflight(binary=checker, timeout_s=0.3)),
        ),
        anybody,
        lambda: 0.0,
    )
    moved = replace(SMALL.services[0], timeout_ms=1_000)
    await one.apply(one.render(snapshot(SMALL, 1, 0.5)))
    before = dict(one._served)
    # The check hangs: clusters and routes wait, and so do endpoints of the service that changes.
    checker.write_text("#!/bin/sh\nexec sleep 60\n")
    declared = replace(SMALL, services=(moved, SMALL.services[1]), routes=())
    with pytest.raises(Retryable):
        await one.apply(one.render(snapshot(declared, 2, 0.7)))
    after = dict(one._served)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"endpoint/{SMALL.services[1].name}"}
    checker.write_text("#!/bin/sh\nexit 0\n")
    await one.apply(one.render(snapshot(declared, 2, 0.7)))
    assert dict(one._served)["route/rules"] != before["route/rules"]
    await one.stop()
