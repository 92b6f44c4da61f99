"""The shape of a fleet document: data centres, gateways and routes, and how the parts refer."""

import re
from collections.abc import Callable, Collection

from controlplane.api.fleet_document.addresses import listen_address, path
from controlplane.api.fleet_document.expressions import expression
from controlplane.api.fleet_document.findings import listed
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    T,
    Unique,
    UniqueNames,
    choice,
    fields,
    integer,
    matching,
    name,
    reference,
)
from controlplane.api.fleet_document.services import (
    CAPACITY_RPS,
    MACHINE_KEYS,
    PORT,
    Sites,
    machines,
    service,
)
from controlplane.api.fleet_document.sources import source
from controlplane.domain.routing.expressions import MOST_CROSSINGS, crossings
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Pool, Role

FLEET_KEYS = ("datacenters", "pools", "services", "gateways", "routes", "metric_sources")

HOST_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"\*|(\*\.)?{HOST_LABEL}(\.{HOST_LABEL}){{0,30}}", re.ASCII)
USUAL_GROUP = GatewayGroup(name="")


def fleet(place: Place) -> Fleet:
    """Read the whole document; findings go to the place's collection."""
    entries = fields(place, FLEET_KEYS)
    datacenters = _declared(place.node, "datacenters")
    services = _declared(place.node, "services")
    pools: tuple[Pool, ...] = entries.optional(
        "pools", lambda at: _named(at, lambda item: _pool(item, datacenters)), ()
    )
    sites = Sites(datacenters=datacenters, pools={pool.name: pool.datacenter for pool in pools})
    return Fleet(
        datacenters=entries.required("datacenters", _datacenters, ()),
        pools=pools,
        services=entries.optional(
            "services", lambda at: _named(at, lambda item: service(item, sites)), ()
        ),
        gateways=entries.optional("gateways", lambda at: _named(at, _gateway), ()),
        routes=entries.optional("routes", lambda at: _routes(at, services), ()),
        metric_sources=entries.optional("metric_sources", lambda at: _named(at, source), ()),
    )


def _declared(root: Node, section: str) -> Collection[str]:
    """Names in one section, read first, so that the order of sections does not matter."""
    lists = [value for key, value in _entries(root) if key == section]
    tables = [item for node in lists if isinstance(node, Listing) for item in node.items]
    values = [value for table in tables for key, value in _entries(table) if key == "name"]
    # Keys of a dictionary: thousands of routes look their service up here.
    return dict.fromkeys(value.text for value in values if isinstance(value, Scalar))


def _entries(node: Node) -> list[tuple[str, Node]]:
    if not isinstance(node, Table):
        return []
    return [(key.text, value) for key, value in node.entries if isinstance(key, Scalar)]


def _named(place: Place, read: Callable[[Place], T]) -> tuple[T, ...]:
    """Items whose `name` may occur once."""
    names = UniqueNames()
    found: list[T] = []
    for item in place.items():
        found.append(read(item))
        _check_name(names, item, "name")
    return tuple(found)


def _check_name(names: UniqueNames, item: Place, key: str) -> None:
    for word, value in _entries(item.node):
        if word == key:
            names.check(item.child(key, value))


def _datacenters(place: Place) -> tuple[Datacenter, ...]:
    faults = place.findings.count
    centers = _named(place, _datacenter)
    if place.findings.count > faults:
        # A misspelt role is one finding, not a second one about the number of primaries.
        return centers
    primaries = [center.name for center in centers if center.role is Role.PRIMARY]
    if len(primaries) != 1:
        found = f"with the primaries {listed(primaries)}" if primaries else "without a primary"
        place.report("exactly one data centre with the role primary", found)
    return centers


def _datacenter(place: Place) -> Datacenter:
    entries = fields(place, ("name", "role", "region", "join_order"))
    return Datacenter(
        name=entries.required("name", name, ""),
        role=entries.required("role", choice(Role), Role.CLOUD),
        region=entries.required("region", name, ""),
        join_order=entries.optional("join_order", integer(0, 1_000_000), 0),
    )


def _pool(place: Place, datacenters: Collection[str]) -> Pool:
    entries = fields(place, ("name", "datacenter", *MACHINE_KEYS))
    servers, idle_cpu, full_cpu = machines(entries)
    return Pool(
        name=entries.required("name", name, ""),
        datacenter=entries.required("datacenter", reference("data centre", datacenters), ""),
        capacity_rps=entries.required("capacity_rps", CAPACITY_RPS, 1.0),
        servers=servers,
        idle_cpu=idle_cpu,
        full_cpu=full_cpu,
    )


def _gateway(place: Place) -> GatewayGroup:
    entries = fields(place, ("name", "listen_address", "listen_port", "region"))
    return GatewayGroup(
        name=entries.required("name", name, ""),
        listen_address=entries.optional(
            "listen_address", listen_address, USUAL_GROUP.listen_address
        ),
        listen_port=entries.optional("listen_port", PORT, USUAL_GROUP.listen_port),
        region=entries.optional("region", name, None),
    )


def _routes(place: Place, services: Collection[str]) -> tuple[Route, ...]:
    ids, rules = UniqueNames(), Unique()
    found: list[Route] = []
    for item in place.items("a list of routes"):
        entries = fields(item, ("id", "service", "hosts", "path"))
        route = _route(entries, services)
        _check_name(ids, item, "id")
        for host in route.hosts:
            if host and route.path.value:
                rules.check(f"host {host} {route.path.type} {route.path.value}", item)
        found.append(route)
    for host, pairs in crossings(found).items():
        if pairs > MOST_CROSSINGS:
            place.report(
                f"up to {MOST_CROSSINGS}: begin the expressions with a path of their own, or give "
                "them another host",
                f"{pairs} pairs of a path and a regular expression of host {host or '?'} that may "
                "match what begins like it",
            )
    return tuple(found)


def _route(entries: Fields, services: Collection[str]) -> Route:
    return Route(
        id=entries.required("id", name, ""),
        service=entries.required("service", reference("service", services), ""),
        hosts=entries.optional("hosts", _hosts, ("*",)),
        path=entries.optional("path", _path, PathMatch()),
    )


def _hosts(place: Place) -> tuple[str, ...]:
    rule = matching(HOST, "*, a host name in lower case, or *. and a domain")
    unique = Unique()
    hosts = []
    for item in place.items("a list of host names"):
        host = rule(item)
        hosts.append(host)
        # One in upper case has its finding already.
        unique.check(host if HOST.fullmatch(host) else "", item)
    if not hosts:
        place.report("at least one host name, or leave hosts out for every host", "an empty list")
    return tuple(sorted(set(hosts)))


def _path(place: Place) -> PathMatch:
    entries = fields(place, ("type", "value"))
    kind = entries.optional("type", choice(PathMatchType), PathMatchType.PATH_PREFIX)
    if kind is PathMatchType.REGULAR_EXPRESSION:
        return PathMatch(type=kind, value=entries.required("value", expression, ""))
    value = entries.required("value", path, "")
    if value and ("?" in value or "#" in value):
        entries.places["value"].report("a path without ? and #")
    if kind is PathMatchType.PATH_PREFIX and len(value) > 1 and value.endswith("/"):
        entries.places["value"].report(
            f"a prefix without / at the end, as {value.rstrip('/') or '/'}; it matches segments"
        )
    return PathMatch(type=kind, value=value)
