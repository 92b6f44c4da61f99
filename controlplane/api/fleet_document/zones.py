"""The part of a fleet document about certificates, by file, and about zones of gateways."""

from controlplane.api.fleet_document.callers import FILE
from controlplane.api.fleet_document.conditions import several, sources
from controlplane.api.fleet_document.reading import Place, choice, fields, name
from controlplane.domain.routing.route import L4Route, Route
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.routing.zones import Zone, ZoneFunction, missing_functions
from controlplane.domain.topology import Fleet


def certificate(place: Place) -> Certificate:
    """Read one certificate; the two files must be in one folder, which gateways watch."""
    entries = fields(place, ("name", "chain_file", "key_file", "client_ca_file", "minimum_version"))
    read = Certificate(
        name=entries.required("name", name, ""),
        chain_file=entries.required("chain_file", FILE, ""),
        key_file=entries.required("key_file", FILE, ""),
        client_ca_file=entries.optional("client_ca_file", FILE, ""),
        minimum_version=entries.optional("minimum_version", choice(TlsVersion), TlsVersion.V1_2),
    )
    folder = read.chain_file.rpartition("/")[0]
    if read.chain_file and read.key_file and read.key_file.rpartition("/")[0] != folder:
        entries.places["key_file"].report(f"a file in {folder}, so that both are renewed at once")
    return read


def check_zones(place: Place, declared: Fleet) -> None:
    """Report routes that name a gateway group whose zone does not do what they need."""
    zones = {one.name: one for one in declared.zones}
    groups = {group.name: zones[group.zone] for group in declared.gateways if group.zone in zones}
    traffic: tuple[Route | L4Route, ...] = (*declared.routes, *declared.l4_routes)
    for route in traffic:
        for group in route.gateways:
            missing = missing_functions(route, groups[group]) if group in groups else ()
            if missing:
                place.report(
                    f"groups whose zone has {', '.join(missing)}, or that function in zone "
                    f"{groups[group].name}",
                    f"route {route.id} for gateway group {group}",
                )


def zone(place: Place) -> Zone:
    """Read one zone."""
    entries = fields(place, ("name", "functions", "sources"))
    return Zone(
        name=entries.required("name", name, ""),
        functions=entries.optional(
            "functions", several(choice(ZoneFunction), "functions of a zone"), ()
        ),
        sources=entries.optional("sources", sources, ()),
    )
