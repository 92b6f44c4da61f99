"""A real HAProxy in front of callers: keys, tokens, grants, quotas, certificates."""

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509

from benchmarks.free_ports import free_port
from controlplane.adapters.haproxy.render import HaproxyOptions, render
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.callers.policies import (
    CallerPolicy,
    ClientCertificate,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
)
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.routing.zones import Zone
from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from tests.credentials import authority, fingerprint, store
from tests.servers.proxies import Client, haproxy, is_closed, write
from tests.sites.callers import CONSUMERS, KEY, POLICIES, ROUTES, cases, echo

SHOP, PAY = "shop.example.com", "pay.example.com"


def site(service_port: int, port: int, **sections: object) -> Fleet:
    cluster = Cluster(
        datacenter="east",
        capacity_rps=100.0,
        endpoints=(Endpoint(address="127.0.0.1", port=service_port),),
    )
    usual = Fleet(
        datacenters=(Datacenter(name="east", role=Role.PRIMARY, region="r1"),),
        services=tuple(Service(name=name, clusters=(cluster,)) for name in ("web", "echo")),
        gateways=(GatewayGroup(name="edge", listen_port=port),),
        routes=ROUTES,
        callers=POLICIES,
        consumers=CONSUMERS,
    )
    return replace(usual, **sections)


def files(folder: Path, wanted: Fleet) -> None:
    shares = {service.name: {"east": 1.0} for service in wanted.services}
    options = HaproxyOptions(group="edge", socket=str(folder / "socket"))
    write(folder, render(build(wanted, shares), options).parts)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("callers")
    port = free_port()
    with echo() as behind:
        files(folder, site(behind, port))
        with haproxy(folder, port), contextlib.closing(Client(port)) as one:
            yield one


def test_every_caller_gets_what_the_site_says(client: Client) -> None:
    for case in cases():
        answer = client.ask(case.target, headers=case.headers)
        assert answer.status in case.status, (case, answer)


def test_who_is_unknown_is_told_how_to_be_known(client: Client) -> None:
    assert client.ask("/key").headers["www-authenticate"] == "ApiKey"
    assert client.ask("/pay").headers["www-authenticate"] == "Bearer"


def test_a_service_learns_who_asks_and_nobody_can_pretend(client: Client) -> None:
    lies = (("x-consumer", "operator"), ("X-Consumer-Policy", "staff"), ("x_consumer", "operator"))
    told = json.loads(client.ask("/whoami", headers=(*lies, ("x-api-key", KEY))).body)
    assert (told["x-consumer"], told["x-consumer-policy"]) == (["partner"], ["key"])
    assert "x_consumer" not in told


def test_a_quota(client: Client) -> None:
    thrifty = [("x-api-key", "thrifty")]
    found = [client.ask("/key", headers=thrifty).status for _ in range(5)]
    assert found == [200, 200, 200, 429, 429]
    assert client.ask("/key", headers=[("x-api-key", KEY)]).status == 200


def test_a_zone_keeps_to_its_sources_and_counts_in_grants(tmp_path: Path) -> None:
    port = free_port()
    zone = Zone(name="x", sources=("127.0.0.2/32", "2001:db8::/32"))
    groups = (GatewayGroup(name="edge", listen_port=port, zone="x"),)
    with echo() as behind:
        files(tmp_path, site(behind, port, gateways=groups, zones=(zone,)))
        with haproxy(tmp_path, port):
            headers = [("x-api-key", "elsewhere")]
            with contextlib.closing(Client(port, source="127.0.0.2")) as inside:
                assert inside.ask("/key", headers=headers).status == 200
            assert is_closed(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """An HAProxy that speaks TLS."""

    folder: Path
    port: int

    def get(
        self, host: str, path: str, client: str = "", server: str = "", trusted: str = "hosts.pem"
    ) -> str:
        """The status that curl gets, "" when there is none."""
        name = server or host
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "5"]
        command += ["--cacert", str(self.folder / trusted), "-H", f"host: {host}"]
        command += ["--connect-to", f"{name}:443:127.0.0.1:{self.port}"]
        if client:
            held = self.folder / client
            command += ["--cert", str(held / "chain.pem"), "--key", str(held / "key.pem")]
        done = subprocess.run(
            [*command, f"https://{name}{path}"], capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else ""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    hosts, clients = authority("hosts"), authority("clients")
    (folder / "hosts.pem").write_text(hosts.pem)
    (folder / "clients.pem").write_text(clients.pem)
    for name, one in (("first", "first"), ("second", "second"), ("third", "third")):
        store(folder / name, clients.issue(one))
    for name, host in (("shop", SHOP), ("pay", PAY)):
        chain, key = hosts.issue(name, x509.DNSName(host))
        (folder / f"{name}.pem").write_text(chain)
        (folder / f"{name}.pem.key").write_text(key)
    port, plain = free_port(), free_port()
    with echo() as behind:
        files(folder, _with_certificates(site(behind, plain), folder, port))
        with haproxy(folder, plain):
            yield Secured(folder=folder, port=port)


def _with_certificates(usual: Fleet, folder: Path, port: int) -> Fleet:
    shop = Certificate(
        name="shop",
        chain_file=str(folder / "shop.pem"),
        key_file=str(folder / "shop.pem.key"),
        minimum_version=TlsVersion.V1_3,
    )
    pay = replace(
        shop,
        name="pay",
        chain_file=str(folder / "pay.pem"),
        key_file=str(folder / "pay.pem.key"),
        client_ca_file=str(folder / "clients.pem"),
    )
    third = fingerprint((folder / "third" / "chain.pem").read_text())
    return replace(
        usual,
        gateways=tuple(replace(group, tls_port=port) for group in usual.gateways),
        certificates=(shop, pay, replace(shop, name="odd", key_file="/elsewhere/key.pem")),
        routes=(
            Route(id="shop", service="web", hosts=(SHOP,), tls="shop"),
            Route(id="pay", service="web", hosts=(PAY,), tls="pay", authentication=("machines",)),
            Route(id="odd", service="web", hosts=("odd.example.com",), tls="odd"),
        ),
        callers=(CallerPolicy(name="machines", client_certificate=ClientCertificate()),),
        consumers=tuple(
            Consumer(
                name=name,
                credentials=(Credential(policy="machines", type=kind, value=value),),
                grants=(Grant(),),
            )
            for name, kind, value in (
                ("by-subject", CredentialType.SUBJECT, "CN=second"),
                ("by-digest", CredentialType.FINGERPRINT, third),
            )
        ),
    )


def test_the_name_in_the_handshake_picks_the_certificate(secured: Secured) -> None:
    assert secured.get(SHOP, "/") == "200"
    # Curl checks that the certificate is for the name.
    assert secured.get(PAY, "/") == "401"
    assert secured.get("odd.example.com", "/") == ""
    assert secured.get("unknown.example.com", "/") == ""


def test_a_client_certificate(secured: Secured) -> None:
    answers = {name: secured.get(PAY, "/", client=name) for name in ("first", "second", "third")}
    assert answers == {"first": "401", "second": "200", "third": "200"}
    assert secured.get(PAY, "/", client="second", server=SHOP) == "401"


def test_a_renewed_certificate_is_taken_over_the_socket(secured: Secured) -> None:
    """The two commands of docs/tls.md."""
    hosts = authority("hosts")
    chain, key = hosts.issue("shop", x509.DNSName(SHOP))
    place = secured.folder / "shop.pem"
    socket_file = secured.folder / "socket"
    (secured.folder / "new.pem").write_text(hosts.pem)
    assert "Transaction created" in _told(socket_file, f"set ssl cert {place} <<\n{chain}{key}\n")
    assert "Success" in _told(socket_file, f"commit ssl cert {place}\n")
    assert secured.get(SHOP, "/", trusted="new.pem") == "200"
    assert secured.get(SHOP, "/") == ""


def _told(place: Path, command: str) -> str:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(place))
        one.sendall(command.encode())
        with one.makefile("r") as answer:
            return answer.read()


def test_what_haproxy_cannot_check_is_told() -> None:
    folder = Path("/certificates")
    named = replace(
        CONSUMERS[0],
        credentials=(Credential(policy="key", type=CredentialType.SAN, value="spiffe://a"),),
    )
    odd = Certificate(name="odd", chain_file=str(folder / "a.pem"), key_file=str(folder / "b.pem"))
    edwards = '{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "' + "A" * 43 + '"}]}'
    newer = CallerPolicy(name="newer", jwt=Jwt(issuer="id", jwks=edwards))
    wanted = site(
        9_001, 10_000, consumers=(named,), certificates=(odd,), callers=(*POLICIES, newer)
    )
    wanted = replace(
        wanted,
        gateways=tuple(replace(group, tls_port=443) for group in wanted.gateways),
        routes=(*ROUTES, Route(id="odd", service="web", hosts=("odd.example.com",), tls="odd")),
    )
    shares = {service.name: {"east": 1.0} for service in wanted.services}
    made = render(build(wanted, shares), HaproxyOptions(group="edge"))
    assert {(note.code, note.subject) for note in made.notes} == {
        ("caller_policy_unsupported", "caller/signed"),
        ("caller_credential_unsupported", "caller/broken"),
        ("caller_credential_unsupported", "caller/fetched"),
        ("caller_credential_unsupported", "caller/newer"),
        ("caller_credential_unsupported", "consumer/partner"),
        ("certificate_not_loadable", "certificate/odd"),
    }
