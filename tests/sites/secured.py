"""A site with certificates for two hosts, one open and one closed, for planes made of files."""

import contextlib
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from controlplane.domain.routing.route import FixedResponse, Route
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from tests.credentials import Authority, authority, store
from tests.servers.proxies import Client
from tests.sites.callers import CONSUMERS, KEY, POLICIES

SHOP, WILD = "shop.example.com", "*.wild.example.com"
ANSWER = FixedResponse(status=200, body="in")


def site(folder: Path, port: int, tls_port: int | None = None) -> Fleet:
    """Its certificates are read from `shop` and `wild` in the folder."""
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
        certificates=tuple(
            Certificate(
                name=name,
                chain_file=str(folder / name / "chain.pem"),
                key_file=str(folder / name / "key.pem"),
            )
            for name in ("shop", "wild")
        ),
    )


def issued(folder: Path) -> Authority:
    """The authority of the two certificates, which stand in the folder then."""
    hosts = authority("hosts")
    store(folder / "shop", hosts.issue("shop", x509.DNSName(SHOP)))
    store(folder / "wild", hosts.issue("wild", x509.DNSName(WILD)))
    return hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """The site on a running plane: its two ports."""

    plain: int
    port: int
    hosts: Authority

    def get(self, name: str, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> tuple[int, str]:
        """Status and serial number of the certificate, which the context checks for the name."""
        context = ssl.create_default_context(cadata=self.hosts.pem)
        context.maximum_version = newest
        request = f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n"
        with (
            socket.create_connection(("127.0.0.1", self.port), 10) as one,
            context.wrap_socket(one, server_hostname=name) as tls,
            tls.makefile("rb") as stream,
        ):
            tls.sendall(request.encode())
            return int(stream.readline().split()[1]), tls.getpeercert()["serialNumber"]

    def closed_to_all(self) -> bool:
        """Whether the open host answers, and the closed one nobody, with whatever key or name."""
        callers = ([], [("x-api-key", KEY)], [("x-consumer", "partner")])
        with contextlib.closing(Client(self.plain)) as client:
            statuses = [client.ask("/", host="closed", headers=one).status for one in callers]
            return client.ask("/", host="open").status == 200 and statuses == [403, 403, 403]
