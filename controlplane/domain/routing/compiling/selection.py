"""The routes of one gateway group that a data plane can express; the others are notes.

A route whose conditions cannot be compared is left out. One that does something that the plane
cannot do stays and refuses its requests, so that they do not get in by another route. Called by
the compilers of planes that are configured by files.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain.findings import Observation
from controlplane.domain.routing.compiling.choices import choices
from controlplane.domain.routing.matching.normalization import normalized
from controlplane.domain.routing.precedence import pattern
from controlplane.domain.routing.route import L4Route, Route
from controlplane.domain.routing.whitelist import Whitelist, refusal

# Stands for a parameter where a path is checked.
_SOME_SEGMENT = "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """What a plane is and what it cannot do.

    Attributes:
        title: its name in sentences.
        refused: action -> what its requests get instead, in words.
        takes_ports: whether it gets L4 routes.
    """

    title: str
    refused: Mapping[str, str]
    takes_ports: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Routes of a group, and what is not as they say."""

    routes: tuple[Route, ...]
    notes: tuple[Observation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Rules and what they may name."""

    routes: Iterable[Route]
    whitelists: Iterable[Whitelist]
    services: Collection[str]
    l4_routes: Iterable[L4Route] = ()


def selected(
    declared: Declared, gateway: str, plane: Plane, left_out: Mapping[str, str]
) -> Selection:
    """The routes of a gateway group.

    Args:
        left_out: id -> words of the plane that refused it.
    """
    every = (*declared.routes, *map(refusal, declared.whitelists))
    here = [r for r in every if not r.gateways or gateway in r.gateways]
    kept: list[Route] = []
    notes: list[Observation] = []
    for route in sorted(here, key=lambda r: r.id):
        fault = _fault(route, declared.services, plane, left_out)
        if fault is None:
            kept.append(route)
            notes += _refused(route, plane)
        else:
            notes.append(fault)
    notes += _without_ports(declared.l4_routes, gateway, plane)
    return Selection(routes=tuple(kept), notes=tuple(notes))


def _fault(
    route: Route, services: Collection[str], plane: Plane, left_out: Mapping[str, str]
) -> Observation | None:
    if route.id in left_out:
        reason = f"{plane.title} refuses it: {left_out[route.id]}"
        return _note("route_refused", route, reason, "the route is left out")
    if route.service and route.service not in services:
        reason = (
            f"it names service {route.service}, which is not in the snapshot: declare the "
            "service, or name another"
        )
        return _note("route_without_service", route, reason, "the route is left out")
    if choices(route) is None:
        names = ", ".join(call.name for call in route.functions)
        reason = f"{plane.title} cannot compute its match functions ({names}): use conditions"
        return _note("route_not_expressible", route, reason, "the route is left out")
    if not _is_normal(route):
        reason = f"no request has the path {route.path.value}, which is not in normal form"
        return _note("route_path_never_matches", route, reason, "the route is left out")
    return None


def _is_normal(route: Route) -> bool:
    rule = pattern(route.path)
    if rule is None:
        return True
    segments = (_SOME_SEGMENT if part is None else part for part in rule.segments)
    path = "/" + "/".join(segments)
    return normalized(path) == path and re.search(r"\?", path) is None


def _refused(route: Route, plane: Plane) -> Iterator[Observation]:
    for action, instead in plane.refused.items():
        if getattr(route, action):
            reason = f"{plane.title} cannot do its {action}: use another kind of gateway"
            yield _note("route_action_refused", route, reason, f"its requests get {instead}")


def _without_ports(routes: Iterable[L4Route], gateway: str, plane: Plane) -> Iterator[Observation]:
    """Connections that a plane for HTTP does not take."""
    if plane.takes_ports:
        return
    for route in sorted(routes, key=lambda r: r.id):
        if not route.gateways or gateway in route.gateways:
            yield Observation(
                code="l4_route_not_expressible",
                subject=f"l4/{route.id}",
                message=f"L4 route {route.id}: {plane.title} gets HTTP routes only: name gateway "
                "groups of another kind in its `gateways`",
                held=f"nobody listens on port {route.port} for it there",
            )


def _note(code: str, route: Route, reason: str, held: str) -> Observation:
    return Observation(
        code=code,
        subject=f"route/{route.id}",
        message=f"route {route.id}: {reason}",
        held=held,
    )


def crowded(hosts: Iterable[str], plane: Plane) -> Iterator[Observation]:
    """Hosts whose templates double what stands beside them too often."""
    for host in hosts:
        yield Observation(
            code="route_parameters_crowded",
            subject=f"host/{host}",
            message=f"the path templates of host {host} need too many entries in the tables of "
            f"{plane.title}: write prefixes without parameters, or fewer rules beside them",
            held="the templates of the host are left out",
        )
