"""Listeners for connections: TCP by port, TLS by the name in the handshake, UDP by port.

Called by `render`. Routes of one group and port are one listener, whose filter chains choose by
name; a TLS connection is passed on as it is. Must never share a port with the group's HTTP.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from envoy.config.core.v3 import address_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.filters.udp.udp_proxy.v3 import route_pb2 as udp_route_pb2
from envoy.extensions.filters.udp.udp_proxy.v3 import udp_proxy_pb2
from xds.type.matcher.v3 import matcher_pb2

from controlplane.adapters.envoy.derived_clusters import l4_name
from controlplane.adapters.envoy.packing import extension, packed
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import L4Protocol, L4Route
from controlplane.domain.snapshot import RoutesSection
from controlplane.domain.topology import GatewayGroup

# Tries of a connection, each at another endpoint if there is one.
CONNECT_ATTEMPTS = 3


def l4_listeners(
    group: GatewayGroup, routes: Iterable[L4Route], services: Iterable[str]
) -> Iterator[tuple[str, listener_pb2.Listener]]:
    """What the group listens for beside HTTP: `tcp-5432` and the listener.

    Args:
        services: those in the snapshot; a route to another one is left out.
    """
    known = set(services)
    seen = (r for r in routes if r.service in known and _seen_by(r, group))
    ordered = sorted(seen, key=lambda r: (r.protocol, r.port, r.id))
    for (protocol, port), same in groupby(ordered, key=lambda r: (r.protocol, r.port)):
        taken = protocol is L4Protocol.TCP and port in {group.listen_port, group.tls_port}
        if not taken:
            name = listener_name(protocol, port)
            yield name, _listener(group, name, list(same))


def listener_name(protocol: L4Protocol, port: int) -> str:
    """Name of the listener of a protocol and port in every group that has it."""
    return f"{protocol.lower()}-{port}"


def l4_notes(section: RoutesSection, services: Iterable[str]) -> tuple[Observation, ...]:
    """The L4 routes that are left out, and why."""
    known = set(services)
    notes = []
    first: dict[tuple[L4Protocol, int, str, str], str] = {}
    for route in sorted(section.l4_routes, key=lambda r: r.id):
        if route.service not in known:
            notes.append(_without_service(route))
            continue
        groups = [group for group in section.gateways if _seen_by(route, group)]
        ports = {port for g in groups for port in (g.listen_port, g.tls_port)}
        if route.protocol is L4Protocol.TCP and route.port in ports:
            notes.append(_shadowed(route, "the HTTP listener of a gateway group"))
        others = sorted(_earlier(route, groups, first))
        notes.extend(_shadowed(route, f"l4/{other}") for other in others)
    return tuple(notes)


def _seen_by(route: L4Route, group: GatewayGroup) -> bool:
    return not route.gateways or group.name in route.gateways


def _earlier(
    route: L4Route,
    groups: Iterable[GatewayGroup],
    first: dict[tuple[L4Protocol, int, str, str], str],
) -> set[str]:
    """Routes before this one that have one of its names; notes the route where it is the first."""
    keys = [
        (route.protocol, route.port, group.name, name) for group in groups for name in _names(route)
    ]
    return {other for key in keys if (other := first.setdefault(key, route.id)) != route.id}


def _names(route: L4Route) -> tuple[str, ...]:
    """Names in handshakes; "" is every other one, and no handshake at all."""
    return tuple("" if name == "*" else name.lower() for name in route.sni) or ("",)


def _listener(group: GatewayGroup, name: str, routes: list[L4Route]) -> listener_pb2.Listener:
    address = address_pb2.SocketAddress(address=group.listen_address, port_value=routes[0].port)
    message = listener_pb2.Listener(name=name, address=address_pb2.Address(socket_address=address))
    if routes[0].protocol is L4Protocol.UDP:
        message.address.socket_address.protocol = address_pb2.SocketAddress.UDP
        message.listener_filters.append(_udp_proxy(name, routes[0]))
        return message
    if any(route.sni for route in routes):
        message.listener_filters.add(
            name="envoy.filters.listener.tls_inspector",
            typed_config=packed(tls_inspector_pb2.TlsInspector()),
        )
    taken: set[str] = set()
    for route in routes:
        names = [one for one in dict.fromkeys(_names(route)) if one not in taken]
        taken.update(names)
        if names:
            message.filter_chains.append(_chain(name, route, names))
    return message


def _chain(listener: str, route: L4Route, names: list[str]) -> listener_components_pb2.FilterChain:
    proxy = tcp_proxy_pb2.TcpProxy(
        stat_prefix=listener, cluster=l4_name(route.service, route.protocol)
    )
    proxy.max_connect_attempts.value = CONNECT_ATTEMPTS
    proxy.hash_policy.add().source_ip.SetInParent()
    chain = listener_components_pb2.FilterChain(
        name=route.id,
        filters=[
            listener_components_pb2.Filter(
                name="envoy.filters.network.tcp_proxy", typed_config=packed(proxy)
            )
        ],
    )
    chain.filter_chain_match.server_names.extend(one for one in names if one)
    return chain


def _udp_proxy(listener: str, route: L4Route) -> listener_components_pb2.ListenerFilter:
    to = udp_route_pb2.Route(cluster=l4_name(route.service, route.protocol))
    proxy = udp_proxy_pb2.UdpProxyConfig(
        stat_prefix=listener,
        matcher=matcher_pb2.Matcher(
            on_no_match=matcher_pb2.Matcher.OnMatch(action=extension("route", to))
        ),
    )
    proxy.hash_policies.add().source_ip = True
    return listener_components_pb2.ListenerFilter(
        name="envoy.filters.udp_listener.udp_proxy", typed_config=packed(proxy)
    )


def _without_service(route: L4Route) -> Observation:
    return Observation(
        code="route_without_service",
        subject=f"l4/{route.id}",
        message=f"L4 route {route.id} names service {route.service}, which is not in the snapshot: "
        "declare the service, or name another",
        held="the L4 route is left out",
    )


def _shadowed(route: L4Route, by: str) -> Observation:
    return Observation(
        code="route_shadowed",
        subject=f"l4/{route.id}",
        message=f"L4 route {route.id} wants {route.protocol} port {route.port}, which {by} has "
        "already: change or remove one of them",
        held="the L4 route is left out where the other one is",
    )
