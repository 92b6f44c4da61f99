"""A real Caddy that speaks TLS, keeps to its zone, and lets nobody in whom it cannot check."""

import contextlib
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from controlplane.adapters.caddy.render import CaddyOptions, render
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.tls import TlsVersion
from controlplane.domain.routing.zones import Zone
from controlplane.domain.topology import Fleet
from tests.servers.proxies import Client, caddy, is_closed, until_listens, write
from tests.sites.secured import SHOP, Secured, issued, site


def files(folder: Path, wanted: Fleet) -> None:
    options = CaddyOptions(group="edge", admin=f"unix/{folder / 'admin.sock'}")
    write(folder, render(build(wanted, {}), options).parts)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("caddy")
    hosts = issued(folder)
    clients = folder / "clients.pem"
    clients.write_text(hosts.pem)
    plain, port = free_port(), free_port()
    usual = site(folder, plain, port)
    certificates = tuple(
        replace(one, minimum_version=oldest, client_ca_file=str(clients))
        for one, oldest in zip(usual.certificates, (TlsVersion.V1_2, TlsVersion.V1_3), strict=True)
    )
    files(folder, replace(usual, certificates=certificates))
    with caddy(folder, plain):
        # Its servers start one after the other, in any order.
        until_listens(port)
        yield Secured(plain=plain, port=port, hosts=hosts)


def test_the_name_in_the_handshake_picks_the_certificate(secured: Secured) -> None:
    assert secured.get(SHOP, ssl.TLSVersion.TLSv1_2)[0] == 200
    assert secured.get("a.wild.example.com")[0] == 200
    for name, newest in (
        ("unknown.example.com", ssl.TLSVersion.TLSv1_3),
        ("a.wild.example.com", ssl.TLSVersion.TLSv1_2),
    ):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            secured.get(name, newest)


def test_who_cannot_be_checked_is_not_let_in(secured: Secured) -> None:
    assert secured.closed_to_all()


def test_a_zone_keeps_to_its_sources(tmp_path: Path) -> None:
    port = free_port()
    usual = site(tmp_path, port)
    zoned = replace(
        usual,
        gateways=(replace(usual.gateways[0], zone="inner"),),
        zones=(Zone(name="inner", sources=("127.9.0.0/16",)),),
    )
    files(tmp_path, zoned)
    with caddy(tmp_path, port):
        assert is_closed(port)
        with contextlib.closing(Client(port, "127.9.0.1")) as client:
            assert client.ask("/", host="open").status == 200
