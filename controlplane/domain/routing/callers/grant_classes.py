"""Routes that the same consumers may call by the same policies, as one class.

For planes that look grants up in files: the files grow with the classes, of which there are few,
and not with routes times consumers.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controlplane.domain.routing.callers.authorization import declared_id, granted
from controlplane.domain.routing.callers.policies import Consumer
from controlplane.domain.routing.route import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantClass:
    """One class; `number` counts from 0, `policies` are in the order of the routes.

    Without policies nobody can be let in, because the plane checks none of those that are named.
    """

    number: int
    policies: tuple[str, ...]
    consumers: tuple[str, ...]


def grant_classes(
    routes: Iterable[Route], consumers: Collection[Consumer], checked: Collection[str], zone: str
) -> Mapping[str, GrantClass]:
    """Id of each route that asks for its caller -> its class, in order of ids.

    Args:
        checked: policies that the plane checks.
        zone: of the gateways.
    """
    named = {route for one in consumers for grant in one.grants for route in grant.routes}
    found: dict[tuple[object, ...], GrantClass] = {}
    of_routes: dict[str, GrantClass] = {}
    for route in sorted(routes, key=lambda r: r.id):
        if not route.authentication:
            continue
        own = declared_id(route)
        policies = tuple(name for name in route.authentication if name in checked)
        key = (policies, route.labels, own if own in named else "")
        if key not in found:
            allowed = tuple(sorted(one.name for one in consumers if granted(one, route, zone)))
            found[key] = GrantClass(number=len(found), policies=policies, consumers=allowed)
        of_routes[route.id] = found[key]
    return of_routes
