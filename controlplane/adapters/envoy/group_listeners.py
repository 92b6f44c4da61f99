"""All that a gateway group listens for: HTTP, the same over TLS, and ports of L4 routes.

Called by `render`; also what these listeners fetch on their own: filters about callers, and
certificates.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from envoy.config.listener.v3 import listener_pb2
from google.protobuf.message import Message

from controlplane.adapters.envoy import callers, tls
from controlplane.adapters.envoy.concurrency import controllers
from controlplane.adapters.envoy.fetching import named
from controlplane.adapters.envoy.l4_listeners import l4_listeners
from controlplane.adapters.envoy.listeners import Stickiness, listener
from controlplane.adapters.envoy.rates import RATES, rates
from controlplane.adapters.envoy.resource_sets import listener_name
from controlplane.adapters.envoy.zones import narrowed, sources_of, zone_notes
from controlplane.domain.admission.native_tickets import CheckedQueue
from controlplane.domain.findings import Observation
from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.tls import tls_hosts
from controlplane.domain.snapshot import RoutesSection, ServiceEndpoints, ServiceLimit
from controlplane.domain.topology import GatewayGroup
from controlplane.domain.xds import ResourceType

TLS = "tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What listeners have to do beside routing.

    Attributes:
        services: that L4 routes may go to.
        queue: whose tickets are checked here; None is nobody's.
        adapting: services whose concurrency is limited by what is learned here.
    """

    stickiness: Stickiness
    services: Collection[str]
    queue: CheckedQueue | None = None
    adapting: Collection[str] = ()


def group_listeners(
    section: RoutesSection, group: GatewayGroup, needs: Needs
) -> Iterator[tuple[str, listener_pb2.Listener]]:
    """The listeners of a group, by the names of their parts."""
    sources = sources_of(section, group)
    for name, message in _of_everybody(section, group, needs):
        kept = narrowed(message, sources)
        if kept is not None:
            yield name, kept


def fetched(
    section: RoutesSection,
    services: Collection[ServiceEndpoints],
    by_source: Mapping[str, ServiceLimit],
) -> Iterator[tuple[ResourceType, str, Message]]:
    """What listeners name and Envoys ask for by name.

    Args:
        by_source: service -> the rate of each address.
    """
    for name, message in callers.extensions(section):
        yield ResourceType.EXTENSION, name, message
    yield ResourceType.EXTENSION, *named(RATES, rates(services, by_source))
    for name, controller in controllers(services):
        yield ResourceType.EXTENSION, *named(name, controller)
    for name, secret in tls.secrets(tls_hosts(section.certificates, section.routes)):
        yield ResourceType.SECRET, name, secret


def access_notes(section: RoutesSection) -> tuple[Observation, ...]:
    """What of callers, certificates and zones is not as it was declared."""
    ports = [group.tls_port for group in section.gateways if group.tls_port is not None]
    certificates = certificate_notes(section.routes, ports)
    return (*callers.notes(section), *certificates, *zone_notes(section))


def _of_everybody(
    section: RoutesSection, group: GatewayGroup, needs: Needs
) -> Iterator[tuple[str, listener_pb2.Listener]]:
    who = callers.caller_filters(section, group.zone)
    plain = listener(group, needs.stickiness, who, needs.queue, needs.adapting)
    hosts = tls_hosts(section.certificates, section.routes)
    yield group.name, plain
    if group.tls_port is not None and hosts:
        secured = tls.secured(plain, f"https-{group.name}", group.tls_port, hosts)
        yield listener_name(group.name, TLS), secured
    for name, message in l4_listeners(group, section.l4_routes, needs.services):
        yield listener_name(group.name, name), message
