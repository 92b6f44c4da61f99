"""The part of a fleet document about L4 routes: ports, and TLS names on them, that go to services.

Called by `sections`.
"""

from controlplane.api.fleet_document.conditions import hosts, several
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Unique,
    UniqueNames,
    choice,
    fields,
    integer,
    name,
    reference,
)
from controlplane.api.fleet_document.routes import Surroundings
from controlplane.domain.routing.route import L4Protocol, L4Route


def l4_routes(place: Place, around: Surroundings) -> tuple[L4Route, ...]:
    """Ports, and TLS names on them, that go to services."""
    ids, rules = UniqueNames(), Unique()
    found = []
    for item in place.items("a list of L4 routes"):
        entries = fields(item, ("id", "service", "port", "protocol", "sni", "gateways"))
        if "id" in entries.places:
            ids.check(entries.places["id"])
        read = _l4_route(entries, around)
        for group in read.gateways or ("every group",):
            for server in read.sni or ("*",):
                rules.check(f"{read.protocol} port {read.port} {server} of {group}", item)
        found.append(read)
    return tuple(found)


def _l4_route(entries: Fields, around: Surroundings) -> L4Route:
    group = reference("gateway group", around.gateways)
    read = L4Route(
        id=entries.required("id", name, ""),
        service=entries.required("service", reference("service", around.services), ""),
        port=entries.required("port", integer(1, 65_535), 1),
        protocol=entries.optional("protocol", choice(L4Protocol), L4Protocol.TCP),
        sni=entries.optional("sni", hosts, ()),
        gateways=entries.optional("gateways", several(group, "gateway groups"), ()),
    )
    if read.sni and read.protocol is not L4Protocol.TCP:
        entries.places["sni"].report("for TCP only; UDP has no TLS name", "beside UDP")
    return read
