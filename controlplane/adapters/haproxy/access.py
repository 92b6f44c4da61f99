"""Who may come in to a gateway group on HAProxy: sources of its zone, certificates, callers.

Called by `render` and `frontend`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controlplane.adapters.haproxy import callers, tls
from controlplane.adapters.haproxy.callers import Callers
from controlplane.adapters.haproxy.targets import Target
from controlplane.adapters.haproxy.tests import NETWORKS_PER_LINE
from controlplane.domain.findings import Observation
from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.tls import TlsHost, tls_hosts
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a group's frontend and folder get for it; `sources` () is anybody."""

    callers: Callers
    hosts: tuple[TlsHost, ...] = ()
    sources: tuple[str, ...] = ()

    def connections(self, group: GatewayGroup) -> Iterator[str]:
        """The lines about connections."""
        yield from tls.bind(group, self.hosts)
        for at in range(0, len(self.sources), NETWORKS_PER_LINE):
            yield f"acl of_zone src -- {' '.join(self.sources[at : at + NETWORKS_PER_LINE])}"
        if self.sources:
            yield "tcp-request connection reject if !of_zone"

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Files beside the configuration, by name."""
        for name, text in self.callers.files:
            yield name, text.encode()
        lines = "".join(f"{line}\n" for line in tls.certificates(self.hosts))
        if lines:
            yield tls.CERTIFICATES_FILE, lines.encode()


def access(section: RoutesSection, group: GatewayGroup, targets: Iterable[Target]) -> Access:
    """The access of one group to its targets."""
    zone = next((zone for zone in section.zones if zone.name == group.zone), None)
    return Access(
        callers=callers.callers(section, group.zone, targets),
        hosts=tls_hosts(section.certificates, section.routes) if group.tls_port else (),
        sources=() if zone is None else zone.sources,
    )


def access_notes(section: RoutesSection, group: GatewayGroup) -> tuple[Observation, ...]:
    """What is not as it was declared."""
    ports = [] if group.tls_port is None else [group.tls_port]
    hosts = tls_hosts(section.certificates, section.routes)
    loadable = tls.notes(hosts) if ports else ()
    return (*callers.notes(section), *certificate_notes(section.routes, ports), *loadable)
