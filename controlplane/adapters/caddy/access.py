"""Who may come in to a gateway group on Caddy: sources of its zone, certificates by name.

Called by `render`. Caddy serves TLS on every port of a server but the one that it is told is for
HTTP; a handshake that meets no policy fails. Callers are not known here: routes that want to know
their caller refuse everybody.
"""

from collections.abc import Iterator

from controlplane.adapters.caddy.matchers import Json, host_expression, name_order, negated
from controlplane.domain.routing.precedence import EVERY_HOST
from controlplane.domain.routing.tls import TlsHost, tls_hosts
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup


def served_hosts(section: RoutesSection, group: GatewayGroup) -> tuple[TlsHost, ...]:
    """The certificates that the group shows."""
    return tls_hosts(section.certificates, section.routes) if group.tls_port else ()


def of_zone(section: RoutesSection, group: GatewayGroup) -> Iterator[Json]:
    """The route that ends connections from elsewhere."""
    zone = next((zone for zone in section.zones if zone.name == group.zone), None)
    if zone is not None and zone.sources:
        outside = negated({"remote_ip": {"ranges": list(zone.sources)}})
        yield {"match": [outside], "handle": [{"handler": "static_response", "abort": True}]}


def listening(group: GatewayGroup, hosts: tuple[TlsHost, ...]) -> Json:
    """What the server says of its ports."""
    ports = [group.listen_port, *([group.tls_port] if hosts else [])]
    made: Json = {
        "listen": [f"{group.listen_address}:{port}" for port in ports],
        "automatic_https": {"disable": True},
        "protocols": ["h1", "h2"],
    }
    if hosts:
        made["tls_connection_policies"] = list(_policies(hosts))
    return made


def certificates(hosts: tuple[TlsHost, ...]) -> dict[str, Json]:
    """The part of the configuration about certificates, by name; nothing without any."""
    if not hosts:
        return {}
    files = [
        {
            "certificate": host.certificate.chain_file,
            "key": host.certificate.key_file,
            "tags": [host.certificate.name],
        }
        for host in hosts
    ]
    return {"tls": {"certificates": {"load_files": files}}}


def _policies(hosts: tuple[TlsHost, ...]) -> Iterator[Json]:
    """One for each name, the most specific first."""
    named = [(name, host) for host in hosts for name in host.names]
    for name, host in sorted(named, key=lambda pair: name_order(pair[0])):
        policy: Json = {
            "certificate_selection": {"any_tag": [host.certificate.name]},
            "protocol_min": f"tls{host.certificate.minimum_version}",
        }
        if name != EVERY_HOST:
            policy["match"] = {"sni_regexp": {"pattern": rf"(?i)\A{host_expression(name)}\z"}}
        if host.certificate.client_ca_file:
            policy["client_authentication"] = {
                "ca": {"provider": "file", "pem_files": [host.certificate.client_ca_file]},
                "mode": "verify_if_given",
            }
        yield policy
