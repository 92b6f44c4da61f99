"""A real Traefik on the files that are rendered for it: what it does with routes and services."""

import json
import socket
import ssl
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.free_ports import free_port
from controlplane.adapters.traefik.render import WATCHED, TraefikOptions, render
from controlplane.domain.routing.callers.policies import CONSUMER_HEADER
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    VersionWeight,
)
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.routing.zones import Zone
from controlplane.domain.services import HealthCheck, LoadBalancing
from controlplane.domain.topology import GatewayGroup
from tests.servers.echo import echo
from tests.servers.proxies import Answer, Client, traefik
from tests.sites.proxied import GROUP, fleet, service, snapshot

ALL = Route(id="all", service="web")
EXACT = PathMatchType.EXACT


class Site:
    """A group on Traefik, and the addresses of two data centres."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.east, self.west = (free_port() for _ in range(3))
        plain = service("web", range(self.east, self.east + 1), range(self.west, self.west + 1))
        self.web = replace(
            plain,
            load_balancing=LoadBalancing.ROUND_ROBIN,
            # Nobody is away because the machine is busy.
            health_check=HealthCheck(path="/", interval_ms=300, timeout_ms=5_000),
        )
        self.declared = replace(fleet(self.port), services=(self.web,), whitelists=())

    def put(self, *routes: Route, east: float = 0.5) -> None:
        made = snapshot(replace(self.declared, routes=routes), east=east)
        options = TraefikOptions(group=GROUP, directory=str(self.folder))
        for file, data in render(made, options).parts:
            new = self.folder / f".{file}.new"
            new.write_bytes(data)
            new.replace(self.folder / file)

    def ask(self, target: str, *headers: tuple[str, str], source: str = "127.0.0.1") -> Answer:
        client = Client(self.port, source)
        answer = client.ask(target, headers=headers)
        client.close()
        return answer

    def until(self, target: str, status: int) -> bool:
        """Ask until it is answered with a status, for 10 s."""
        end_s = time.monotonic() + 10
        while self.ask(target).status != status:
            if time.monotonic() > end_s:
                return False
            time.sleep(0.05)
        return True

    def told(self, target: str, *headers: tuple[str, str]) -> dict[str, Any]:
        answer = self.ask(target, *headers)
        assert answer.status == 200, answer
        found: dict[str, Any] = json.loads(answer.body)
        return {**found, "answered": answer.headers}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_weights_count_and_who_has_none_stands_behind(site: Site) -> None:
    behind = Route(id="b", service="web", path=PathMatch(value="/b"))
    site.put(ALL, behind, east=0.75)
    with echo(site.west):
        with echo(site.east), traefik(site.folder, site.port):
            seen = Counter(site.told("/")["port"] for _ in range(40))
            assert seen == {site.east: 30, site.west: 10}
        site.put(ALL, behind, east=1.0)
        with traefik(site.folder, site.port):
            # Until the first health check has met nobody.
            assert site.until("/", 200)
            assert site.told("/")["port"] == site.west


def test_what_a_service_and_a_client_see(site: Site) -> None:
    braces = '{{ env "HOME" }}'
    moved = Route(
        id="moved",
        service="web",
        path=PathMatch(value="/v1"),
        rewrite=Rewrite(host="api.internal", prefix="/api"),
        request_headers=HeaderChanges(set=(("x-plane", braces),), remove=("x-secret",)),
        response_headers=HeaderChanges(set=(("x-served-by", "us"),), remove=("x-own",)),
    )
    one = Route(id="one", service="web", path=PathMatch(value="/one"), rewrite=Rewrite(path="/a$1"))
    site.put(ALL, moved, one)
    with echo(site.east), echo(site.west), traefik(site.folder, site.port):
        told = site.told("/v1/x?q=1", ("x-secret", "s"), (CONSUMER_HEADER, "me"))
        assert (told["path"], told["headers"]["host"]) == ("/api/x?q=1", "api.internal")
        assert told["headers"]["x-plane"] == braces
        assert {"x-secret", CONSUMER_HEADER}.isdisjoint(told["headers"])
        assert told["answered"]["x-served-by"] == "us"
        assert "x-own" not in told["answered"]
        assert site.told("/one/x?q=1")["path"] == "/a$1?q=1"
        # What the rules saw is what the service sees.
        assert site.told("//x/%7e/../y%20z")["path"] == "/x/y%20z"


def test_answers_of_its_own(site: Site) -> None:
    gone = FixedResponse(status=410)
    there = Redirect(status=302, host="new.example", path="/$x")
    site.put(
        Route(id="gone", path=PathMatch(value="/gone"), response=gone),
        Route(
            id="old", path=PathMatch(value="/old"), redirect=Redirect(status=301, scheme="https")
        ),
        Route(id="there", path=PathMatch(type=EXACT, value="/there"), redirect=there),
        Route(id="guarded", service="web", path=PathMatch(value="/g"), authentication=("keys",)),
        Route(id="changed", service="web", path=PathMatch(value="/t"), transform="x"),
        Route(id="spaced", path=PathMatch(type=EXACT, value="/a%20b%2Bc"), response=gone),
    )
    with traefik(site.folder, site.port):
        statuses = {t: site.ask(t).status for t in ("/gone/x", "/g", "/t", "/", "/a%20b%2Bc")}
        assert statuses == {"/gone/x": 410, "/g": 403, "/t": 501, "/": 404, "/a%20b%2Bc": 410}
        old = site.ask("/old/{{.}}?q=1")
        assert (old.status, old.headers["location"][-22:]) == (301, "/old/%7B%7B.%7D%7D?q=1")
        assert site.ask("/there?q=1").headers["location"] == "http://new.example/$x?q=1"


def test_a_change_of_the_watched_file_is_taken_up_without_a_restart(site: Site) -> None:
    site.put(Route(id="a", response=FixedResponse(status=410)))
    with traefik(site.folder, site.port):
        assert site.ask("/").status == 410
        site.put(Route(id="a", response=FixedResponse(status=451)))
        assert site.until("/", 451)


def test_versions_are_divided_by_the_address_of_the_client(site: Site) -> None:
    clusters = [
        replace(cluster, endpoints=tuple(replace(e, version=v) for e in cluster.endpoints))
        for cluster, v in zip(site.web.clusters, ("v1", "v2"), strict=True)
    ]
    site.declared = replace(site.declared, services=(replace(site.web, clusters=tuple(clusters)),))
    parts = (VersionWeight(version="v1", weight=5_000), VersionWeight(version="v2", weight=5_000))
    site.put(replace(ALL, versions=parts))
    with echo(site.east), echo(site.west), traefik(site.folder, site.port):
        ports = {
            source: {json.loads(site.ask("/", source=source).body)["port"] for _ in range(3)}
            for source in (f"127.0.0.{n}" for n in range(1, 31))
        }
    assert all(len(each) == 1 for each in ports.values())
    assert set.union(*ports.values()) == {site.east, site.west}


def test_a_zone_lets_in_its_sources_only(site: Site) -> None:
    zone = Zone(name="inner", sources=("127.0.0.1/32",))
    group = GatewayGroup(name=GROUP, listen_port=site.port, zone="inner")
    site.declared = replace(site.declared, zones=(zone,), gateways=(group,))
    site.put(Route(id="a", response=FixedResponse(status=410)))
    with traefik(site.folder, site.port):
        assert [site.ask("/").status, site.ask("/", source="127.0.0.2").status] == [410, 403]


def test_certificates_by_name(site: Site) -> None:
    chain, key = site.folder / "chain.pem", site.folder / "chain.pem.key"
    name = "www.example.com"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(chain)]
    command = ["openssl", "req", "-x509", *made, *subject, *files]
    subprocess.run(command, check=True, capture_output=True)
    shop = Certificate(name="shop", chain_file=str(chain), key_file=str(key))
    group = GatewayGroup(name=GROUP, listen_port=site.port, tls_port=free_port())
    site.declared = replace(site.declared, certificates=(shop,), gateways=(group,))
    site.put(Route(id="a", hosts=(name,), tls="shop", response=FixedResponse(status=410)))
    with traefik(site.folder, site.port), httpx.Client(verify=False) as http:
        told = http.get(
            f"https://127.0.0.1:{group.tls_port}/",
            headers={"host": name},
            extensions={"sni_hostname": name},
        )
        assert told.status_code == 410
        with httpx.Client(verify=False) as other, pytest.raises(httpx.ConnectError):
            other.get(f"https://127.0.0.1:{group.tls_port}/", extensions={"sni_hostname": "other"})
        before = _shown(group.tls_port or 0, name)
        subprocess.run(command, check=True, capture_output=True)
        (site.folder / WATCHED).touch()
        end_s = time.monotonic() + 10
        while _shown(group.tls_port or 0, name) == before:
            assert time.monotonic() < end_s
            time.sleep(0.1)


def _shown(port: int, name: str) -> bytes | None:
    """The certificate that a name gets."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), 5) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        return secure.getpeercert(binary_form=True)


def test_a_file_says_which_snapshot_it_is_of(site: Site) -> None:
    site.put(ALL)
    first = (site.folder / WATCHED).read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# signalbox:1:")
