"""A real Envoy that speaks TLS: names, renewal under load, and client certificates."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509

from benchmarks.free_ports import free_ports
from controlplane.domain.routing.callers.policies import (
    CallerPolicy,
    ClientCertificate,
    Consumer,
    Credential,
    CredentialType,
    Grant,
)
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.topology import Fleet
from tests.adapters.envoy.site import Live, fleet, prefix, running, snapshot
from tests.credentials import Authority, authority, fingerprint, store

SHOP, PAY = "shop.example.com", "pay.example.com"
SPIFFE = "spiffe://site/partner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An Envoy with TLS, and who signed what."""

    live: Live
    port: int
    folder: Path
    hosts: Authority
    clients: Authority
    pairs: dict[str, tuple[str, str]]

    def context(self, client: str = "", oldest: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        made = ssl.create_default_context(cadata=self.hosts.pem)
        if client:
            made.load_cert_chain(
                self.folder / client / "chain.pem", self.folder / client / "key.pem"
            )
        if oldest is not None:
            made.maximum_version = oldest
        return made

    async def get(
        self, name: str, path: str = "/", client: str = "", host: str = ""
    ) -> tuple[int, str]:
        """Status, and the serial number of the certificate that was shown."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context(client), server_hostname=name
        )
        shown = writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]
        head = f"GET {path} HTTP/1.1\r\nhost: {host or name}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode())
        status = int((await reader.readline()).split()[1])
        writer.close()
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            await writer.wait_closed()
        return status, shown


def serial(pair: tuple[str, str]) -> str:
    number = x509.load_pem_x509_certificate(pair[0].encode()).serial_number
    text = f"{number:X}"
    return text if len(text) % 2 == 0 else f"0{text}"


def at(name: str, host: str, tls: str, *policies: str) -> Route:
    return replace(prefix(name, "web", f"/{name}", host), tls=tls, authentication=policies)


def declared(live: Live, port: int, folder: Path) -> Fleet:
    usual = fleet(live.services, [], live.listener)

    def certificate(name: str, **more: object) -> Certificate:
        made = Certificate(
            name=name,
            chain_file=str(folder / name / "chain.pem"),
            key_file=str(folder / name / "key.pem"),
        )
        return replace(made, **more)

    trust = str(folder / "authorities" / "chain.pem")
    consumers = {
        "by-name": (CredentialType.SAN, SPIFFE),
        "by-subject": (CredentialType.SUBJECT, "CN=second"),
        "by-digest": (
            CredentialType.FINGERPRINT,
            fingerprint((folder / "third" / "chain.pem").read_text()),
        ),
    }
    return replace(
        usual,
        gateways=tuple(replace(group, tls_port=port) for group in usual.gateways),
        routes=(
            prefix("plain", "web", "/"),
            at("shop", SHOP, "shop"),
            replace(at("pay", PAY, "pay", "machines"), path=prefix("x", "web", "/pay").path),
            at("wild", "*.wild.example.com", "wild"),
            at("gone", "gone.example.com", "gone"),
        ),
        certificates=(
            certificate("shop"),
            certificate("pay", client_ca_file=trust),
            certificate("wild", minimum_version=TlsVersion.V1_3),
            certificate("gone"),
        ),
        callers=(CallerPolicy(name="machines", client_certificate=ClientCertificate()),),
        consumers=tuple(
            Consumer(
                name=name,
                credentials=(Credential(policy="machines", type=kind, value=value),),
                grants=(Grant(),),
            )
            for name, (kind, value) in consumers.items()
        ),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("tls")
    hosts, clients, others = authority("hosts"), authority("clients"), authority("others")
    dns = x509.DNSName
    pairs = {
        "shop": hosts.issue("shop", dns(SHOP)),
        "pay": hosts.issue("pay", dns(PAY)),
        "wild": hosts.issue("wild", dns("*.wild.example.com")),
        "first": clients.issue("first", x509.UniformResourceIdentifier(SPIFFE)),
        "second": clients.issue("second"),
        "third": clients.issue("third"),
        "fourth": clients.issue("fourth", dns("else.example.com")),
        "late": clients.issue("first", x509.UniformResourceIdentifier(SPIFFE), hours=-1),
        "stranger": others.issue("first", x509.UniformResourceIdentifier(SPIFFE)),
        "authorities": (clients.pem, ""),
    }
    for name, pair in pairs.items():
        store(folder / name, pair)
    (port,) = free_ports(1)
    async with running(folder) as live:
        live.revision += 1
        wanted = declared(live, port, folder)
        await live.plane.apply(live.plane.render(snapshot(wanted, live.revision)))
        one = Site(live=live, port=port, folder=folder, hosts=hosts, clients=clients, pairs=pairs)
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(OSError, IndexError):
                    if (await one.get(SHOP, "/shop"))[0] == 200:
                        break
                await asyncio.sleep(0.05)
        yield one


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_name_in_the_handshake_picks_the_certificate(site: Site) -> None:
    assert await site.get(SHOP, "/shop") == (200, serial(site.pairs["shop"]))
    assert (await site.get(PAY, "/pay"))[1] == serial(site.pairs["pay"])
    assert await site.get("a.wild.example.com", "/wild") == (200, serial(site.pairs["wild"]))


async def test_a_name_without_a_certificate_is_closed(site: Site) -> None:
    for name in ("unknown.example.com", "gone.example.com"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await site.get(name)


async def test_an_old_version_is_refused(site: Site) -> None:
    old = site.context(oldest=ssl.TLSVersion.TLSv1_2)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection(
            "127.0.0.1", site.port, ssl=old, server_hostname="a.wild.example.com"
        )


@pytest.mark.parametrize(
    ("client", "status"),
    [("", 401), ("first", 200), ("second", 200), ("third", 200), ("fourth", 401)],
)
async def test_a_client_certificate(site: Site, client: str, status: int) -> None:
    # Twice: a second connection might take the first one's session up.
    for _ in range(2):
        assert (await site.get(PAY, "/pay", client))[0] == status


@pytest.mark.parametrize("client", ["late", "stranger"])
async def test_a_client_certificate_that_nobody_trusts(site: Site, client: str) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError, IndexError)):
        await site.get(PAY, "/pay", client)


async def test_a_client_certificate_says_nothing_to_another_host(site: Site) -> None:
    assert (await site.get(SHOP, "/pay", "first", host=PAY))[0] == 401
    assert (await site.get(PAY, "/pay", "first", host=f"{PAY}:443"))[0] == 200


async def test_without_tls_there_is_no_client_certificate(site: Site) -> None:
    assert (await site.live.get("/pay", host=PAY)).status_code == 401


async def test_a_renewed_certificate_is_taken_without_a_failed_request(site: Site) -> None:
    """SNI picks the certificate; a renewal by a move of files reaches new connections."""
    old = serial(site.pairs["shop"])
    seen: list[tuple[int, str]] = []
    stop = asyncio.Event()

    async def ask() -> None:
        while not stop.is_set():
            seen.append(await site.get(SHOP, "/shop"))
            await asyncio.sleep(0.005)

    # A connection that is open all the time is not closed.
    kept_reader, kept = await asyncio.open_connection(
        "127.0.0.1", site.port, ssl=site.context(), server_hostname=SHOP
    )
    tasks = [asyncio.create_task(ask()) for _ in range(4)]
    renewed = site.hosts.issue("shop", x509.DNSName(SHOP))
    await asyncio.sleep(0.3)
    store(site.folder / "shop", renewed)
    async with asyncio.timeout(20):
        while not seen or seen[-1][1] != serial(renewed):
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    stop.set()
    await asyncio.gather(*tasks)
    kept.write(f"GET /shop HTTP/1.1\r\nhost: {SHOP}\r\n\r\n".encode())
    assert (await kept_reader.readline()).split()[1] == b"200"
    kept.close()
    assert {status for status, _ in seen} == {200}
    assert {shown for _, shown in seen} == {old, serial(renewed)}
