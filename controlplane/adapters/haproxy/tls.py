"""TLS on HAProxy: a list of certificates with the names that each is shown for.

Called by `render`. HAProxy finds the key beside the chain, as the same file or as `CHAIN.key`; a
certificate whose key is elsewhere is left out, and its hosts have no TLS here.
"""

from collections.abc import Iterable, Iterator

from controlplane.domain.findings import Observation
from controlplane.domain.routing.tls import Certificate, TlsHost
from controlplane.domain.topology import GatewayGroup

CERTIFICATES_FILE = "certificates.list"


def bind(group: GatewayGroup, hosts: Iterable[TlsHost]) -> Iterator[str]:
    """The line of a frontend that speaks TLS; a handshake with another name fails."""
    if group.tls_port is not None and any(_usable(host.certificate) for host in hosts):
        place = f"{group.listen_address}:{group.tls_port}"
        yield f"bind {place} ssl crt-list {CERTIFICATES_FILE} strict-sni alpn h2,http/1.1"


def certificates(hosts: Iterable[TlsHost]) -> Iterator[str]:
    """The lines of the list."""
    for host in hosts:
        if _usable(host.certificate):
            one = host.certificate
            options = [f"ssl-min-ver TLSv{one.minimum_version}"]
            if one.client_ca_file:
                options.append(f"ca-file {one.client_ca_file} verify optional")
            yield f"{one.chain_file} [{' '.join(options)}] {' '.join(host.names)}"


def notes(hosts: Iterable[TlsHost]) -> Iterator[Observation]:
    """Certificates that HAProxy cannot load."""
    for host in hosts:
        one = host.certificate
        if not _usable(one):
            yield Observation(
                code="certificate_not_loadable",
                subject=f"certificate/{one.name}",
                message=f"HAProxy wants the key of certificate {one.name} in {one.chain_file}.key, "
                f"or in the same file: name {one.chain_file}.key",
                held=f"{', '.join(host.names)} have no TLS there",
            )


def _usable(certificate: Certificate) -> bool:
    return certificate.key_file in (certificate.chain_file, f"{certificate.chain_file}.key")
