"""Who may come in to a gateway group on nginx: certificates by name, sources of the zone.

Called by `render`. The files of a certificate are variables of the name in the handshake, so nginx
reads them at each handshake and a renewal needs no reload; a name without any fails. Callers are
not known here: nginx computes no digest of a key and verifies no token, so routes that want to
know their caller refuse everybody.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controlplane.adapters.nginx.quoting import word
from controlplane.domain.findings import Observation
from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.tls import TlsHost, TlsVersion, tls_hosts
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the servers of a group get for it; `sources` () is anybody."""

    group: GatewayGroup
    hosts: tuple[TlsHost, ...] = ()
    sources: tuple[str, ...] = ()

    def of_http(self) -> Iterator[str]:
        """The lines beside the servers."""
        if self.sources:
            inside = " ".join(f"{source} 0;" for source in self.sources)
            yield f"geo $realip_remote_addr $sb_outside {{ default 1; {inside} }}"
        if not self.hosts:
            return
        oldest = min(host.certificate.minimum_version for host in self.hosts)
        versions = " ".join(f"TLSv{one}" for one in TlsVersion if one >= oldest)
        yield f"ssl_protocols {versions};"
        yield "ssl_session_cache shared:sb_tls:2m;"
        yield "ssl_certificate $sb_chain;"
        yield "ssl_certificate_key $sb_key;"
        yield from _map("sb_chain", ((host, host.certificate.chain_file) for host in self.hosts))
        yield from _map("sb_key", ((host, host.certificate.key_file) for host in self.hosts))

    def of_server(self, default: str) -> Iterator[str]:
        """The lines of one server; `default` is ` default_server` or nothing."""
        address = self.group.listen_address
        yield f"listen {address}:{self.group.listen_port}{default};"
        if self.hosts:
            yield f"listen {address}:{self.group.tls_port} ssl http2{default};"
        if self.sources:
            # Before anything else: `allow` and `deny` come after `return`.
            yield "if ($sb_outside) { return 444; }"


def access(section: RoutesSection, group: GatewayGroup) -> Access:
    """The access of one group."""
    hosts = tls_hosts(section.certificates, section.routes) if group.tls_port else ()
    zone = next((zone for zone in section.zones if zone.name == group.zone), None)
    return Access(group=group, hosts=hosts, sources=() if zone is None else zone.sources)


def access_notes(section: RoutesSection, wanted: Access) -> Iterator[Observation]:
    """What is not as it was declared."""
    ports = [] if wanted.group.tls_port is None else [wanted.group.tls_port]
    yield from certificate_notes(section.routes, ports)
    oldest = {host.certificate.minimum_version for host in wanted.hosts}
    for host in wanted.hosts:
        if len(oldest) > 1 and host.certificate.minimum_version == max(oldest):
            yield Observation(
                code="tls_version_shared",
                subject=f"certificate/{host.certificate.name}",
                message="nginx speaks the same versions of TLS for all names on a port, and "
                f"certificate {host.certificate.name} wants {max(oldest)} at least: give all "
                "certificates the same minimum_version",
                held=f"its hosts speak {min(oldest)} too",
            )


def _map(variable: str, entries: Iterable[tuple[TlsHost, str]]) -> Iterator[str]:
    yield f"map $ssl_server_name ${variable} {{"
    yield "    hostnames;"
    for host, file in entries:
        for name in host.names:
            yield f"    {'default' if name == '*' else word(name)} {word(file)};"
    yield "}"
