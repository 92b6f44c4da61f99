"""A real nginx that speaks TLS, keeps to its zone, and lets nobody in whom it cannot check."""

import contextlib
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509

from benchmarks.free_ports import free_port
from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.tls import TlsVersion
from controlplane.domain.routing.zones import Zone
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import Fleet, GatewayGroup
from tests.credentials import store
from tests.servers.proxies import Client, is_closed, nginx, write
from tests.sites.secured import SHOP, Secured, issued, site


def snapshot(wanted: Fleet) -> Snapshot:
    return build(wanted, {})


def files(folder: Path, wanted: Fleet) -> None:
    options = NginxOptions(group="edge", directory=str(folder), workers="1")
    write(folder, render(snapshot(wanted), options).parts)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Secured, Path]]:
    folder = tmp_path_factory.mktemp("nginx")
    # Its workers are another user.
    for one in (folder, *folder.parents[:2]):
        one.chmod(0o755)
    hosts = issued(folder)
    plain, port = free_port(), free_port()
    files(folder, site(folder, plain, port))
    with nginx(folder, plain):
        yield Secured(plain=plain, port=port, hosts=hosts), folder


def test_the_name_in_the_handshake_picks_the_certificate(secured: tuple[Secured, Path]) -> None:
    live, _ = secured
    assert live.get(SHOP)[0] == live.get("a.wild.example.com")[0] == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        live.get("unknown.example.com")


def test_a_renewed_certificate_is_taken_without_a_reload(secured: tuple[Secured, Path]) -> None:
    live, folder = secured
    before = live.get(SHOP)[1]
    store(folder / "shop", live.hosts.issue("shop", x509.DNSName(SHOP)))
    end_s = time.monotonic() + 10
    while live.get(SHOP)[1] == before:
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_who_cannot_be_checked_is_not_let_in(secured: tuple[Secured, Path]) -> None:
    assert secured[0].closed_to_all()


def test_a_zone_keeps_to_its_sources(tmp_path: Path) -> None:
    port = free_port()
    usual = site(tmp_path, port)
    groups = tuple(replace(group, zone="inner") for group in usual.gateways)
    zone = Zone(name="inner", sources=("127.0.0.2/32", "2001:db8::/32"))
    files(tmp_path, replace(usual, gateways=groups, zones=(zone,)))
    with nginx(tmp_path, port):
        with contextlib.closing(Client(port, source="127.0.0.2")) as inside:
            assert inside.ask("/", host="open").status == 200
        assert is_closed(port)


def test_what_nginx_does_by_halves_is_told() -> None:
    usual = site(Path("/c"), 80, 443)
    newer = replace(usual.certificates[0], minimum_version=TlsVersion.V1_3)
    wanted = replace(usual, certificates=(newer, *usual.certificates[1:]))
    notes = render(snapshot(wanted), NginxOptions(group="edge")).notes
    assert {(note.code, note.subject) for note in notes} == {
        ("route_action_refused", "route/closed"),
        ("tls_version_shared", "certificate/shop"),
    }
    without = replace(wanted, gateways=(GatewayGroup(name="edge", listen_port=80),))
    notes = render(snapshot(without), NginxOptions(group="edge")).notes
    assert "certificate_without_port" in {note.code for note in notes}
