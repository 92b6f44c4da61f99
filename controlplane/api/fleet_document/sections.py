"""The shape of a fleet document: data centres and gateways, and how the parts refer."""

from collections.abc import Callable, Collection

from controlplane.api.fleet_document.addresses import listen_address
from controlplane.api.fleet_document.clusters import (
    CAPACITY_RPS,
    MACHINE_KEYS,
    PORT,
    Sites,
    machines,
)
from controlplane.api.fleet_document.findings import listed
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table
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
from controlplane.api.fleet_document.routes import Surroundings, l4_routes, routes, whitelists
from controlplane.api.fleet_document.services import service
from controlplane.api.fleet_document.sources import source
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Pool, Role

FLEET_KEYS = (
    "datacenters",
    "pools",
    "services",
    "gateways",
    "routes",
    "whitelists",
    "l4_routes",
    "metric_sources",
)

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
        services=services, gateways=_declared(place.node, "gateways"), now_s=now_s
    )
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
        routes=entries.optional("routes", lambda at: routes(at, around), ()),
        whitelists=entries.optional("whitelists", whitelists, ()),
        l4_routes=entries.optional("l4_routes", lambda at: l4_routes(at, around), ()),
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
