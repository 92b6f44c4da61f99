"""Routes -> OpenAPI 3.1: where the services answer. Called by `formats`.

A description knows paths with whole-segment parameters, methods and hosts, one operation for each
path and method; what is more is a note. Each operation is tagged with its service.
"""

from collections.abc import Iterator, Sequence

from controlplane.api.fleet_document.yaml_text import yaml_text
from controlplane.api.route_documents.omissions import Exported, Omission, left_out, omission
from controlplane.api.route_documents.openapi import ID_EXTENSION, METHODS
from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.route import PathMatchType, Route

SAID = frozenset({"id", "service", "path", "hosts", "methods"})


def openapi_text(routes: Sequence[Route]) -> Exported:
    """The routes that a description can say, and notes on the rest."""
    paths: dict[str, dict[str, object]] = {}
    # The shape of a path and the name of its first writer: `/a/{x}` and `/a/{y}` are one path.
    shapes: dict[str, str] = {}
    notes: list[Omission] = []
    for route in routes:
        note = _unsayable(route) or omission(route, SAID, "OpenAPI")
        if note is None or not note.left_out:
            template = shapes.setdefault(of_template(route.path.value), route.path.value)
            if template != route.path.value:
                note = left_out(route, f"OpenAPI has one path of the form {template}")
            elif clash := sorted(_methods(route) & paths.get(template, {}).keys()):
                words = ", ".join(clash)
                note = left_out(route, f"OpenAPI has one operation for {words} {template}")
            else:
                paths.setdefault(template, {}).update(_operations(route))
        if note is not None:
            notes.append(note)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Routes of Signalbox", "version": "1"},
        "paths": paths,
    }
    return Exported(text=yaml_text(document), notes=tuple(notes))


def _unsayable(route: Route) -> Omission | None:
    if route.path.type not in (PathMatchType.EXACT, PathMatchType.PATH_TEMPLATE):
        return left_out(route, f"OpenAPI has no {route.path.type} {route.path.value}")
    if any("{" in part for part in _literals(route)):
        return left_out(route, "OpenAPI takes braces for parameters")
    if not route.methods:
        return left_out(route, "OpenAPI has no operation for every method")
    if unknown := sorted(_methods(route) - set(METHODS)):
        return left_out(route, f"OpenAPI has no method {', '.join(unknown)}")
    wild = [host for host in route.hosts if host.startswith("*")]
    if wild and route.hosts != ("*",):
        return left_out(route, f"OpenAPI has no server {', '.join(wild)}")
    return None


def _literals(route: Route) -> Iterator[str]:
    if route.path.type is PathMatchType.EXACT:
        yield from route.path.value.split("/")


def _methods(route: Route) -> set[str]:
    return {method.lower() for method in route.methods}


def _operations(route: Route) -> dict[str, object]:
    wanted = _methods(route)
    return {method: _operation(route) for method in METHODS if method in wanted}


def _operation(route: Route) -> dict[str, object]:
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for part in route.path.value.split("/")
        if part.startswith("{")
    ]
    operation: dict[str, object] = {"tags": [route.service], ID_EXTENSION: route.id}
    if route.hosts != ("*",):
        operation["servers"] = [{"url": f"https://{host}"} for host in route.hosts]
    if parameters:
        operation["parameters"] = parameters
    operation["responses"] = {"default": {"description": f"the answer of {route.service}"}}
    return operation
