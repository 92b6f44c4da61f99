"""A real Envoy whose listener leaves the normal form and the guard to its routes."""

import contextlib
import http.client
from collections.abc import Iterator

import pytest
from envoy.config.bootstrap.v3 import bootstrap_pb2

from benchmarks.route_tables_planes import run_envoy, started
from controlplane.adapters.envoy.listeners import Stickiness, listener, with_routes
from controlplane.adapters.envoy.normal_form import READ_HEADER
from controlplane.adapters.envoy.routing.configuration import EVERY_GROUP, compiled
from controlplane.domain.routing.route import FixedResponse, PathMatch, Route
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup

HOST = "shop.example"


def route(name: str, status: int, **changes: object) -> Route:
    path = PathMatch(value=f"/{name}")
    answer = FixedResponse(status=status, body=name)
    return Route(id=name, path=path, response=answer, **changes)  # type: ignore[arg-type]


ROUTES = (
    route("open", 200, hosts=(HOST,)),
    route("closed", 200, hosts=(HOST,), authentication=("keys",)),
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """As on connections that are older than the first route which asks for its caller: no script
    looks for keys."""

    def files(at: int) -> dict[str, bytes]:
        group = GatewayGroup(name="edge", listen_port=at)
        table = compiled(RoutesSection(routes=ROUTES), {}).tables[EVERY_GROUP]
        message = bootstrap_pb2.Bootstrap()
        message.static_resources.listeners.append(
            with_routes(listener(group, Stickiness.NONE), table)
        )
        return {"bootstrap.pb": message.SerializeToString()}

    with started(files, run_envoy, tmp_path_factory.mktemp("envoy") / "one") as one:
        yield one.port


def status(port: int, target: str, host: str = HOST, **headers: str) -> int:
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(asked):
        asked.request("GET", target, headers={"host": host, **headers})
        return asked.getresponse().status


@pytest.mark.parametrize("target", ["/open", "/open/x?y=//", "//open", "/%6fpen", "/x/../open"])
def test_each_spelling_finds_its_route(port: int, target: str) -> None:
    assert status(port, target) == 200


@pytest.mark.parametrize("target", ["/closed", "//closed", "/%63losed", "/open/../closed/x"])
def test_no_spelling_passes_the_guard(port: int, target: str) -> None:
    assert status(port, target) == 403


@pytest.mark.parametrize("host", [HOST, "nobody.example"])
def test_what_cannot_be_read_is_refused_for_every_host(port: int, host: str) -> None:
    assert status(port, "/open%2fx", host) == 400
    assert status(port, "/open\\x", host) == 400
    assert status(port, f"/{'x' * 9_000}", host) == 414
    assert status(port, "/nothing", host) == 404


def test_nobody_can_say_that_a_path_is_read(port: int) -> None:
    said = {READ_HEADER: "1"}
    assert status(port, "//closed", **said) == 403
    assert status(port, "//open", **said) == 200
    assert status(port, "/open%2fx", **said) == 400


def test_long_paths_and_queries_are_read_once(port: int) -> None:
    long = "x/" * 3_000
    assert status(port, f"/open/{long}"[:499]) == status(port, f"/open/{long}"[:500]) == 200
    assert status(port, f"/open/{long}") == 200
    assert status(port, f"//open/{long}") == 200
    assert status(port, f"/open?{long}") == 200
    assert status(port, f"/closed/{long}") == 403
