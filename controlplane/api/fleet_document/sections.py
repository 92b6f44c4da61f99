"""The shape of a fleet document: data centres and gateways, and how the parts refer."""

from collections.abc import Callable, Collection, Mapping

from controlplane.api.fleet_document.addresses import listen_address
from controlplane.api.fleet_document.agents import agent
from controlplane.api.fleet_document.callers import policy
from controlplane.api.fleet_document.clusters import (
    CAPACITY_RPS,
    MACHINE_KEYS,
    PORT,
    Sites,
    machines,
)
from controlplane.api.fleet_document.consumers import Declared, consumer
from controlplane.api.fleet_document.findings import listed
from controlplane.api.fleet_document.l4_routes import l4_routes
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table
from controlplane.api.fleet_document.policies.policy import admission_policy
from controlplane.api.fleet_document.reading import (
    Place,
    T,
    UniqueNames,
    choice,
    fields,
    integer,
    name,
    reference,
)
from controlplane.api.fleet_document.routes import Surroundings, routes, whitelists
from controlplane.api.fleet_document.services import service
from controlplane.api.fleet_document.sources import source
from controlplane.api.fleet_document.zones import certificate, check_zones, zone
from controlplane.domain.admission.policy import Policy
from controlplane.domain.routing.callers.policies import CallerMethod
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Pool, Role

FLEET_KEYS = (
    "datacenters",
    "pools",
    "services",
    "gateways",
    "routes",
    "whitelists",
    "l4_routes",
    "callers",
    "consumers",
    "certificates",
    "zones",
    "policies",
    "metric_sources",
)

GATEWAY_KEYS = ("name", "listen_address", "listen_port", "region", "tls_port", "zone", "agent")
USUAL_GROUP = GatewayGroup(name="")


def fleet(place: Place, now_s: float = 0.0) -> Fleet:
    """Read the whole document; findings go to the place's collection.

    Args:
        now_s: lifetimes of routes count from it, UTC epoch seconds.
    """
    entries = fields(place, FLEET_KEYS)
    datacenters = _declared(place.node, "datacenters")
    services = _declared(place.node, "services")
    around = Surroundings(
        services=services,
        gateways=_declared(place.node, "gateways"),
        callers=_declared(place.node, "callers"),
        certificates=_declared(place.node, "certificates"),
        now_s=now_s,
    )
    zones = _declared(place.node, "zones")
    known = Declared(
        policies=_methods(place.node), routes=_declared(place.node, "routes", "id"), zones=zones
    )
    consumers = _declared(place.node, "consumers")
    pools: tuple[Pool, ...] = entries.optional(
        "pools", lambda at: _named(at, lambda item: _pool(item, datacenters)), ()
    )
    sites = Sites(datacenters=datacenters, pools={pool.name: pool.datacenter for pool in pools})
    read = Fleet(
        datacenters=entries.required("datacenters", _datacenters, ()),
        pools=pools,
        services=entries.optional(
            "services", lambda at: _named(at, lambda item: service(item, sites)), ()
        ),
        gateways=entries.optional(
            "gateways", lambda at: _named(at, lambda item: _gateway(item, zones)), ()
        ),
        routes=entries.optional("routes", lambda at: routes(at, around), ()),
        whitelists=entries.optional("whitelists", whitelists, ()),
        l4_routes=entries.optional("l4_routes", lambda at: l4_routes(at, around), ()),
        callers=entries.optional(
            "callers", lambda at: _named(at, lambda item: policy(item, consumers, services)), ()
        ),
        consumers=entries.optional(
            "consumers", lambda at: _named(at, lambda item: consumer(item, known)), ()
        ),
        certificates=entries.optional("certificates", lambda at: _named(at, certificate), ()),
        zones=entries.optional("zones", lambda at: _named(at, zone), ()),
        policies=entries.optional("policies", admission_policies, ()),
        metric_sources=entries.optional("metric_sources", lambda at: _named(at, source), ()),
    )
    check_zones(entries.places.get("routes", place), read)
    return read


def admission_policies(place: Place) -> tuple[Policy, ...]:
    """The list under `policies`, each name once."""
    return _named(place, admission_policy)


def _declared(root: Node, section: str, name_key: str = "name") -> Collection[str]:
    """Names in one section, read first, so that the order of sections does not matter."""
    tables = _tables(root, section)
    values = [value for table in tables for key, value in _entries(table) if key == name_key]
    # Keys of a dictionary: thousands of routes look their service up here.
    return dict.fromkeys(value.text for value in values if isinstance(value, Scalar))


def _methods(root: Node) -> Mapping[str, CallerMethod | None]:
    """Caller policies with their method, None where it has its own finding."""
    found: dict[str, CallerMethod | None] = {}
    for table in _tables(root, "callers"):
        entries = dict(_entries(table))
        given = [method for method in CallerMethod if method in entries]
        if isinstance(named := entries.get("name"), Scalar):
            found[named.text] = given[0] if len(given) == 1 else None
    return found


def _tables(root: Node, section: str) -> list[Node]:
    lists = [value for key, value in _entries(root) if key == section]
    return [item for node in lists if isinstance(node, Listing) for item in node.items]


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


def _gateway(place: Place, zones: Collection[str]) -> GatewayGroup:
    entries = fields(place, GATEWAY_KEYS)
    read = GatewayGroup(
        name=entries.required("name", name, ""),
        listen_address=entries.optional(
            "listen_address", listen_address, USUAL_GROUP.listen_address
        ),
        listen_port=entries.optional("listen_port", PORT, USUAL_GROUP.listen_port),
        region=entries.optional("region", name, None),
        tls_port=entries.optional("tls_port", PORT, None),
        zone=entries.optional("zone", reference("zone", zones), ""),
        agent=entries.optional("agent", agent, None),
    )
    if read.tls_port == read.listen_port:
        entries.places["tls_port"].report("another port than listen_port")
    return read
