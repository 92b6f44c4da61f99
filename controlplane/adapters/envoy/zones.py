"""Zones on Envoy: only their sources may connect.

Called by `render` for each listener of a group. Who comes from elsewhere finds no filter chain, so
the connection is closed before anything of it is read.
"""

import ipaddress
from collections.abc import Iterable

from envoy.config.core.v3 import address_pb2
from envoy.config.listener.v3 import listener_pb2
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import L4Protocol
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup


def sources_of(section: RoutesSection, group: GatewayGroup) -> tuple[str, ...]:
    """Who may connect to gateways of a group; () is anybody."""
    return next((zone.sources for zone in section.zones if zone.name == group.zone), ())


def narrowed(
    message: listener_pb2.Listener, sources: Iterable[str]
) -> listener_pb2.Listener | None:
    """The listener for these sources only; None when it cannot tell them, which UDP's cannot."""
    ranges = [_range(source) for source in sources]
    if not ranges:
        return message
    if not message.filter_chains:
        return None
    for chain in message.filter_chains:
        chain.filter_chain_match.direct_source_prefix_ranges.extend(ranges)
    return message


def zone_notes(section: RoutesSection) -> tuple[Observation, ...]:
    """UDP routes that gateways of a zone with sources do not have."""
    closed = sorted(g.name for g in section.gateways if sources_of(section, g))
    return tuple(
        Observation(
            code="l4_route_without_sources",
            subject=f"l4_route/{route.id}",
            message=f"Envoy cannot keep UDP to the sources of a zone, and route {route.id} is for "
            f"gateway groups {', '.join(names)}: name other groups in it",
            held="the route is left out there",
        )
        for route in section.l4_routes
        if route.protocol is L4Protocol.UDP
        and (names := [one for one in closed if one in (route.gateways or closed)])
    )


def _range(source: str) -> address_pb2.CidrRange:
    network = ipaddress.ip_network(source)
    return address_pb2.CidrRange(
        address_prefix=str(network.network_address),
        prefix_len=UInt32Value(value=network.prefixlen),
    )
