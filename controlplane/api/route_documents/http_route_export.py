"""Routes -> Gateway API HTTPRoutes, one resource a route. Called by `formats`.

What the standard cannot say is a note. Ids come back by an annotation.
"""

import re
from collections.abc import Sequence

from controlplane.api.fleet_document.yaml_text import yaml_stream
from controlplane.api.route_documents.http_route import GROUP, ID_ANNOTATION, KIND
from controlplane.api.route_documents.http_route_filters import FULL, PREFIX
from controlplane.api.route_documents.http_route_matches import ANYTHING
from controlplane.api.route_documents.naming import marked
from controlplane.api.route_documents.omissions import Exported, Omission, left_out, omission
from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.route import (
    Condition,
    HeaderChanges,
    Part,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    TextMatchType,
)
from controlplane.domain.topology import Fleet

SAID = frozenset(
    {
        "id",
        "service",
        "path",
        "hosts",
        "methods",
        "conditions",
        "gateways",
        "versions",
        "redirect",
        "rewrite",
        "request_headers",
        "response_headers",
        "timeout_ms",
        "retries",
    }
)
METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
)
MOST_HOSTNAMES = 16
# Of Services whose endpoints do not share one.
USUAL_PORT = 80
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)
Plain = dict[str, object]


def http_route_text(routes: Sequence[Route], fleet: Fleet) -> Exported:
    """The routes that an HTTPRoute can say, and notes on the rest."""
    ports = {service.name: _port(fleet, service.name) for service in fleet.services}
    notes: list[Omission] = []
    found: list[Plain] = []
    for route in routes:
        note = _unsayable(route) or omission(route, SAID, KIND) or _noted(route)
        if note is not None:
            notes.append(note)
        if note is None or not note.left_out:
            found.append(_resource(route, ports.get(route.service, USUAL_PORT)))
    return Exported(text=yaml_stream(found), notes=tuple(notes))


def _port(fleet: Fleet, name: str) -> int:
    clusters = fleet.service(name).clusters
    ports = {endpoint.port for cluster in clusters for endpoint in cluster.endpoints}
    return ports.pop() if len(ports) == 1 else USUAL_PORT


def _unsayable(route: Route) -> Omission | None:
    if len(route.hosts) > MOST_HOSTNAMES or ("*" in route.hosts and len(route.hosts) > 1):
        return left_out(route, f"{KIND} has up to {MOST_HOSTNAMES} hostnames, or all")
    if unknown := sorted({*route.methods} - METHODS):
        return left_out(route, f"{KIND} has no method {', '.join(unknown)}")
    if strange := [name for name in route.gateways if _NAME.fullmatch(name) is None]:
        return left_out(route, f"{', '.join(strange)} is no name of a Gateway")
    if route.response is not None:
        return left_out(route, f"{KIND} has no fixed response")
    names = [(condition.part, condition.name) for condition in route.conditions]
    if len(set(names)) < len(names):
        return left_out(route, f"{KIND} has one condition for each name")
    for condition in route.conditions:
        if condition.part is Part.COOKIE or condition.type is TextMatchType.ABSENT:
            words = f"{condition.part} {condition.name} {condition.type}"
            return left_out(route, f"{KIND} has no condition {words}")
    return None


def _noted(route: Route) -> Omission | None:
    if route.path.type is not PathMatchType.PATH_TEMPLATE:
        return None
    message = f"{KIND} has no templates: {route.path.value} is written as a regular expression"
    return Omission(subject=f"route/{route.id}", left_out=False, message=message)


def _resource(route: Route, port: int) -> Plain:
    lower = route.id.lower()
    plain = lower == route.id and _NAME.fullmatch(lower) is not None
    name = lower if plain else marked(re.sub("[^-a-z0-9.]", "-", lower), route.id)
    spec: Plain = {}
    if route.gateways:
        spec["parentRefs"] = [{"name": name} for name in route.gateways]
    if route.hosts != ("*",):
        spec["hostnames"] = list(route.hosts)
    spec["rules"] = [_rule(route, port)]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": name, "annotations": {ID_ANNOTATION: route.id}},
        "spec": spec,
    }


def _rule(route: Route, port: int) -> Plain:
    match: Plain = {"path": _path(route.path)}
    for part, key in ((Part.HEADER, "headers"), (Part.QUERY_PARAM, "queryParams")):
        conditions = [_condition(each) for each in route.conditions if each.part is part]
        if conditions:
            match[key] = conditions
    matches = [{**match, "method": method} for method in route.methods] or [match]
    rule: Plain = {"matches": matches}
    if filters := [_filter(*each) for each in _filters(route)]:
        rule["filters"] = filters
    if route.redirect is None:
        rule["backendRefs"] = _backends(route, port)
    if route.timeout_ms is not None:
        rule["timeouts"] = {"request": duration(route.timeout_ms)}
    if route.retries is not None:
        rule["retry"] = {"attempts": route.retries}
    return rule


def _path(path: PathMatch) -> Plain:
    if path.type is PathMatchType.PATH_TEMPLATE:
        return {
            "type": str(PathMatchType.REGULAR_EXPRESSION),
            "value": of_template(path.value),
        }
    return {"type": str(path.type), "value": path.value}


def _condition(condition: Condition) -> Plain:
    expression = str(TextMatchType.REGULAR_EXPRESSION)
    match condition.type:
        case TextMatchType.PRESENT:
            kind, value = expression, ANYTHING
        case TextMatchType.PREFIX:
            kind, value = expression, f"{re.escape(condition.value)}{ANYTHING}"
        case _:
            kind, value = str(condition.type), condition.value
    return {"type": kind, "name": condition.name, "value": value}


def _backends(route: Route, port: int) -> list[Plain]:
    if not route.versions:
        return [{"name": route.service, "port": port}]
    return [
        {"name": f"{route.service}-{each.version}", "port": port, "weight": each.weight}
        for each in route.versions
    ]


def _filters(route: Route) -> list[tuple[str, str, Plain]]:
    found: list[tuple[str, str, Plain]] = []
    if route.request_headers is not None:
        headers = _headers(route.request_headers)
        found.append(("RequestHeaderModifier", "requestHeaderModifier", headers))
    if route.response_headers is not None:
        headers = _headers(route.response_headers)
        found.append(("ResponseHeaderModifier", "responseHeaderModifier", headers))
    if route.redirect is not None:
        found.append(("RequestRedirect", "requestRedirect", _redirect(route.redirect)))
    if route.rewrite is not None:
        found.append(("URLRewrite", "urlRewrite", _rewrite(route.rewrite)))
    return found


def _filter(kind: str, key: str, content: Plain) -> Plain:
    return {"type": kind, key: content}


def _headers(changes: HeaderChanges) -> Plain:
    found: Plain = {}
    if changes.set:
        found["set"] = [{"name": name, "value": value} for name, value in changes.set]
    if changes.remove:
        found["remove"] = list(changes.remove)
    return found


def _redirect(redirect: Redirect) -> Plain:
    host, _, port = redirect.host.partition(":")
    parts: Plain = {"scheme": redirect.scheme, "hostname": host}
    found = {key: value for key, value in parts.items() if value}
    if port:
        found["port"] = int(port)
    if redirect.path:
        found["path"] = {"type": FULL, "replaceFullPath": redirect.path}
    found["statusCode"] = redirect.status
    return found


def _rewrite(rewrite: Rewrite) -> Plain:
    found: Plain = {"hostname": rewrite.host} if rewrite.host else {}
    if rewrite.prefix:
        found["path"] = {"type": PREFIX, "replacePrefixMatch": rewrite.prefix}
    elif rewrite.path:
        found["path"] = {"type": FULL, "replaceFullPath": rewrite.path}
    return found


def duration(milliseconds: int) -> str:
    """A duration of the Gateway API, as 1h30m or 250ms."""
    units: Sequence[tuple[str, int]] = (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
    words = []
    for unit, size in units:
        count, milliseconds = divmod(milliseconds, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"
