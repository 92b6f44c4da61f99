"""A real Caddy that speaks TLS, keeps to its zone, and lets nobody in whom it cannot check."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509

from controlplane.adapters.caddy.render import CaddyOptions, render
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import FixedResponse, Route
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.routing.zones import Zone
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from tests.caller_site import CONSUMERS, KEY, POLICIES
from tests.credentials import Authority, authority, store
from tests.live_proxies import Client, caddy, free_port, is_closed, write

SHOP, WILD = "shop.example.com", "*.wild.example.com"
ANSWER = FixedResponse(status=200, body="in")


def site(folder: Path, port: int, tls_port: int | None = None) -> Fleet:
    def certificate(name: str, oldest: TlsVersion) -> Certificate:
        return Certificate(
            name=name,
            chain_file=str(folder / name / "chain.pem"),
            key_file=str(folder / name / "key.pem"),
            minimum_version=oldest,
            client_ca_file=str(folder / "clients.pem"),
        )

    return Fleet(
        datacenters=(Datacenter(name="east", role=Role.PRIMARY, region="r1"),),
        gateways=(GatewayGroup(name="edge", listen_port=port, tls_port=tls_port),),
        routes=(
            Route(id="shop", hosts=(SHOP,), tls="shop", response=ANSWER),
            Route(id="wild", hosts=(WILD,), tls="wild", response=ANSWER),
            Route(id="open", hosts=("open",), response=ANSWER),
            Route(id="closed", hosts=("closed",), response=ANSWER, authentication=("key",)),
        ),
        callers=POLICIES,
        consumers=CONSUMERS,
        certificates=(certificate("shop", TlsVersion.V1_2), certificate("wild", TlsVersion.V1_3)),
    )


def files(folder: Path, wanted: Fleet) -> None:
    options = CaddyOptions(group="edge", admin=f"unix/{folder / 'admin.sock'}")
    write(folder, render(build(wanted, {}), options).parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    plain: int
    port: int
    hosts: Authority

    def get(self, name: str, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> int:
        """Status; the context checks that the certificate is for the name."""
        context = ssl.create_default_context(cadata=self.hosts.pem)
        context.maximum_version = newest
        request = f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n"
        with (
            socket.create_connection(("127.0.0.1", self.port), 10) as one,
            context.wrap_socket(one, server_hostname=name) as tls,
            tls.makefile("rb") as stream,
        ):
            tls.sendall(request.encode())
            return int(stream.readline().split()[1])


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("caddy")
    hosts = authority("hosts")
    store(folder / "shop", hosts.issue("shop", x509.DNSName(SHOP)))
    store(folder / "wild", hosts.issue("wild", x509.DNSName(WILD)))
    (folder / "clients.pem").write_text(hosts.pem)
    plain, port = free_port(), free_port()
    files(folder, site(folder, plain, port))
    with caddy(folder, plain):
        yield Secured(plain=plain, port=port, hosts=hosts)


def test_the_name_in_the_handshake_picks_the_certificate(secured: Secured) -> None:
    assert secured.get(SHOP, ssl.TLSVersion.TLSv1_2) == secured.get("a.wild.example.com") == 200
    for name, newest in (
        ("unknown.example.com", ssl.TLSVersion.TLSv1_3),
        ("a.wild.example.com", ssl.TLSVersion.TLSv1_2),
    ):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            secured.get(name, newest)


def test_who_cannot_be_checked_is_not_let_in(secured: Secured) -> None:
    with contextlib.closing(Client(secured.plain)) as client:
        assert client.ask("/", host="open").status == 200
        for headers in ([], [("x-api-key", KEY)], [("x-consumer", "partner")]):
            assert client.ask("/", host="closed", headers=headers).status == 403


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
