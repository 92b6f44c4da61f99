"""One suite of requests (at least 400, generated from the route model, all conditions and nasty spellings included) gets the same decision from our matcher, a real Envoy, a real HAProxy and a real nginx, or the difference is a documented refusal at compile time."""  # noqa: E501

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.free_ports import free_port
from controlplane.adapters.caddy.render import CaddyOptions
from controlplane.adapters.caddy.render import render as caddy_files
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy_files
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx_files
from controlplane.adapters.traefik.render import TraefikOptions
from controlplane.adapters.traefik.render import render as traefik_files
from controlplane.domain.routing.route import HeaderChanges, Route
from controlplane.domain.snapshot import Content, RoutesSection, Snapshot, assemble
from controlplane.domain.topology import GatewayGroup
from tests.routing.suite import Case, Suite, suite
from tests.servers.proxies import (
    Answer,
    Client,
    caddy,
    haproxy,
    nginx,
    traefik,
    write,
)

GROUP = "edge"
# Spellings that nginx refuses before we can read them, or reads in another order; docs/proxies.md.
REFUSED_BY_NGINX = {"spelling:dots-above", "spelling:dots-slashes", "host-broken"}
# Requests without an id get one by chance; this one belongs to no cohort, like none.
NO_ID = ("x-request-id", "none")
# Docs/proxies.md says how Traefik reads these.
OTHERWISE_IN_TRAEFIK = {
    "has:repeated-argument",
    "spelling:dots",
    "spelling:dots-slashes",
    "spelling:non-ascii",
    "spelling:not-allowed",
    "spelling:too-long",
}
# Names the route where a plane has no body of its own.
ROUTE = "x-route"
# All its routes are over, so no snapshot has it; the others show that time is asked here, too.
NEVER_PUBLISHED = "windows-host"


def test_haproxy_decides_as_our_matcher(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    asked = suite(time.time())
    assert len(asked.cases) >= 400
    port = free_port()
    options = HaproxyOptions(group=GROUP, socket=str(tmp_path / "haproxy.sock"))
    artifact = haproxy_files(_snapshot(asked, port), options)
    assert artifact.notes == ()
    write(tmp_path, artifact.parts)
    with haproxy(tmp_path, port):
        different = _different(asked, port)
    record_property("haproxy_requests", len(asked.cases))
    record_property("haproxy_different", len(different))
    assert different == []


def test_nginx_decides_as_our_matcher(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    asked = suite(time.time())
    port = free_port()
    options = NginxOptions(group=GROUP, directory=str(tmp_path), workers="1")
    artifact = nginx_files(_snapshot(asked, port), options)
    write(tmp_path, artifact.parts)
    with nginx(tmp_path, port):
        different = _different(asked, port)
    refused = [one for one in different if one[0].tags & REFUSED_BY_NGINX and one[1].status == 400]
    noted = {note.subject for note in artifact.notes if note.code == "route_empty_header_is_none"}
    emptied = [
        one
        for one in different
        if "has:empty-header" in one[0].tags and f"route/{one[0].route}" in noted
    ]
    record_property("nginx_requests", len(asked.cases))
    record_property("nginx_refused", len(refused))
    record_property("nginx_empty_headers", len(emptied))
    assert [one for one in different if one not in refused and one not in emptied] == []


def test_caddy_decides_as_our_matcher(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    asked = suite(time.time())
    port = free_port()
    options = CaddyOptions(group=GROUP, admin=f"unix/{tmp_path / 'admin.sock'}")
    artifact = caddy_files(_snapshot(asked, port), options)
    assert artifact.notes == ()
    write(tmp_path, artifact.parts)
    with caddy(tmp_path, port):
        different = _different(asked, port)
    record_property("caddy_requests", len(asked.cases))
    record_property("caddy_different", len(different))
    assert different == []


def test_traefik_decides_as_our_matcher(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    asked = suite(time.time())
    port = free_port()
    # The engine publishes what exists at the time; Traefik has no clock, and no bodies of its own.
    routes = tuple(_answering_by_header(r) for r in asked.routes if r.valid(time.time()))
    published = replace(asked, routes=routes)
    options = TraefikOptions(group=GROUP, directory=str(tmp_path))
    artifact = traefik_files(_snapshot(published, port), options)
    write(tmp_path, artifact.parts)
    with traefik(tmp_path, port):
        different = _different(asked, port)
    noted = {n.subject for n in artifact.notes if n.code == "route_not_expressible"}
    left_out = [case for case, _ in different if f"route/{case.route}" in noted]
    documented = [case for case, _ in different if case.tags & OTHERWISE_IN_TRAEFIK]
    record_property("traefik_requests", len(asked.cases))
    record_property("traefik_left_out", len(left_out))
    record_property("traefik_documented", len(documented))
    rest = [one for one in different if one[0] not in left_out and one[0] not in documented]
    assert rest == []


def _answering_by_header(route: Route) -> Route:
    if route.response is None or not route.response.body:
        return route
    return replace(route, response_headers=HeaderChanges(set=((ROUTE, route.response.body),)))


def _snapshot(asked: Suite, port: int) -> Snapshot:
    routes = RoutesSection(
        gateways=(GatewayGroup(name=GROUP, listen_port=port),),
        routes=tuple(route for route in asked.routes if route.id != NEVER_PUBLISHED),
        whitelists=asked.whitelists,
    )
    return assemble(Content(routes=routes))


def _different(asked: Suite, port: int) -> list[tuple[Case, Answer]]:
    clients: dict[str, Client] = {}
    found = []
    for case in asked.cases:
        sent = case.sent
        client = clients.setdefault(sent.source, Client(port, sent.source or "127.0.0.1"))
        named = "has:request-id" in case.tags
        headers = sent.headers if named else (*sent.headers, NO_ID)
        answer = client.ask(sent.target, sent.method, sent.host, headers)
        same = answer.status == case.status
        if case.status == 200:
            same = same and case.route in (answer.body, answer.headers.get(ROUTE))
        if not same:
            found.append((case, answer))
    for client in clients.values():
        client.close()
    return found
