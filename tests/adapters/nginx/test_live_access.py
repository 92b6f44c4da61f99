"""A real nginx that speaks TLS, keeps to its zone, and lets nobody in whom it cannot check."""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509

from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import FixedResponse, Route
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.routing.zones import Zone
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from tests.caller_site import CONSUMERS, KEY, POLICIES
from tests.credentials import Authority, authority, store
from tests.live_proxies import Client, free_port, is_closed, nginx, write

SHOP, WILD = "shop.example.com", "*.wild.example.com"
ANSWER = FixedResponse(status=200, body="in")


def site(folder: Path, port: int, tls_port: int | None = None) -> Fleet:
    def certificate(name: str) -> Certificate:
        return Certificate(
            name=name,
            chain_file=str(folder / name / "chain.pem"),
            key_file=str(folder / name / "key.pem"),
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
        certificates=(certificate("shop"), certificate("wild")),
    )


def snapshot(wanted: Fleet) -> Snapshot:
    return build(wanted, {})


def files(folder: Path, wanted: Fleet) -> None:
    options = NginxOptions(group="edge", directory=str(folder), workers="1")
    write(folder, render(snapshot(wanted), options).parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    folder: Path
    plain: int
    port: int
    hosts: Authority

    def get(self, name: str) -> tuple[int, str]:
        """Status, and the serial number of the certificate that was shown."""
        context = ssl.create_default_context(cadata=self.hosts.pem)
        request = f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n"
        with (
            socket.create_connection(("127.0.0.1", self.port), 10) as one,
            context.wrap_socket(one, server_hostname=name) as tls,
            tls.makefile("rb") as stream,
        ):
            tls.sendall(request.encode())
            return int(stream.readline().split()[1]), tls.getpeercert()["serialNumber"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("nginx")
    # Its workers are another user.
    for one in (folder, *folder.parents[:2]):
        one.chmod(0o755)
    hosts = authority("hosts")
    store(folder / "shop", hosts.issue("shop", x509.DNSName(SHOP)))
    store(folder / "wild", hosts.issue("wild", x509.DNSName(WILD)))
    plain, port = free_port(), free_port()
    files(folder, site(folder, plain, port))
    with nginx(folder, plain):
        yield Secured(folder=folder, plain=plain, port=port, hosts=hosts)


def test_the_name_in_the_handshake_picks_the_certificate(secured: Secured) -> None:
    # The context checks that the certificate is for the name.
    assert secured.get(SHOP)[0] == secured.get("a.wild.example.com")[0] == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secured.get("unknown.example.com")


def test_a_renewed_certificate_is_taken_without_a_reload(secured: Secured) -> None:
    before = secured.get(SHOP)[1]
    store(secured.folder / "shop", secured.hosts.issue("shop", x509.DNSName(SHOP)))
    end_s = time.monotonic() + 10
    while secured.get(SHOP)[1] == before:
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_who_cannot_be_checked_is_not_let_in(secured: Secured) -> None:
    with contextlib.closing(Client(secured.plain)) as client:
        assert client.ask("/", host="open").status == 200
        for headers in ([], [("x-api-key", KEY)], [("x-consumer", "partner")]):
            assert client.ask("/", host="closed", headers=headers).status == 403


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
