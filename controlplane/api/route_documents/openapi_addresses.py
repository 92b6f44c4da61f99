"""Where an API answers: hosts and base paths of `servers` (OpenAPI 3) or `host` (Swagger 2).

Called by `openapi`. A server's scheme and port are no part of a route and are dropped.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from controlplane.api.fleet_document.reading import Place
from controlplane.api.route_documents.documents import listed, members, text_at

_VARIABLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Hosts with one base path, which has no `/` at its end; () is hosts that nothing names."""

    path: str = ""
    hosts: tuple[str, ...] = ()


NOWHERE = (Base(),)


def of_servers(place: Place | None) -> tuple[Base, ...]:
    """The bases of a `servers` list; hosts of one base path together."""
    found: dict[str, list[str]] = {}
    for server in listed(place):
        hosts, path = _server(members(server), server)
        found.setdefault(path, []).extend(hosts)
    bases = (Base(path=path, hosts=tuple(sorted(set(hosts)))) for path, hosts in found.items())
    return tuple(bases) or NOWHERE


def of_swagger(root: Mapping[str, Place]) -> tuple[Base, ...]:
    """The base of a Swagger 2 document."""
    host = text_at(root.get("host")).partition(":")[0].lower()
    path = text_at(root.get("basePath"))
    return (Base(path=_base_path(path), hosts=(host,) if host else ()),)


def _server(entries: Mapping[str, Place], place: Place) -> tuple[list[str], str]:
    address = text_at(entries.get("url"))
    variables = members(entries["variables"]) if "variables" in entries else {}

    def default(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        value = text_at(members(variable).get("default")) if variable is not None else ""
        if not value:
            place.report("a server whose variables have defaults", f"without one for {match[1]!r}")
        return value

    try:
        parts = urlsplit(_VARIABLE.sub(default, address))
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        place.report("a URL", f"the URL {address!r}")
        return [], ""
    return ([host] if host else []), _base_path(parts.path)


def _base_path(path: str) -> str:
    path = path.rstrip("/")
    return path if path.startswith("/") or not path else f"/{path}"
