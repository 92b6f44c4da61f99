"""OpenAPI 3.0, 3.1 and Swagger 2 -> routes: one for each path and service, with its methods.

Called by `formats`. A path item that cannot be taken is left out whole with a finding at its line.
Parameters, bodies and security are the service's concern; a route only says where it answers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controlplane.api.fleet_document.findings import listed as names_listed
from controlplane.api.fleet_document.findings import quoted
from controlplane.api.fleet_document.nodes import Node
from controlplane.api.fleet_document.reading import Place, is_null
from controlplane.api.route_documents.documents import (
    entries_of,
    listed,
    members,
    text_at,
    too_complex,
    unreadable,
)
from controlplane.api.route_documents.imports import ImportWish, Notes
from controlplane.api.route_documents.naming import Wanted, of_path, of_text
from controlplane.api.route_documents.openapi_addresses import (
    Base,
    of_servers,
    of_swagger,
)
from controlplane.api.route_documents.path_templates import path_match
from controlplane.api.route_documents.sketches import Sketch, text, texts

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Of one file: each path stands once for each base path of its servers.
MOST_ROUTES = 50_000
# Of a path item, beside its methods.
ITEM_KEYS = frozenset({"$ref", "summary", "description", "servers", "parameters"})
# The id that the operations of one route had when they were exported.
ID_EXTENSION = "x-signalbox-route-id"
SECURITY = (
    "security of operations is not imported: give the routes an `authentication`, "
    "or leave it to the service"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    method: str
    service: str
    bases: tuple[Base, ...]
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Api:
    """What holds for the whole document.

    Attributes:
        services: by their names in lower case.
        tables: what was read on the way to the items that references name; `referred` the
            operations of these, None where one has errors. A thousand references to one item, or
            into one table of a thousand, read it once.
    """

    root: Mapping[str, Place]
    bases: tuple[Base, ...]
    wish: ImportWish
    notes: Notes
    services: Mapping[str, str]
    tables: dict[tuple[str, ...], Mapping[str, Place]] = field(default_factory=dict)
    referred: dict[str, tuple[_Operation, ...] | None] = field(default_factory=dict)


def read(document: Place, wish: ImportWish, notes: Notes) -> list[Sketch]:
    """The routes of one description; Invalid when it is none."""
    root = members(document)
    faults = document.findings.count
    services = {name.lower(): name for name in wish.declared.services}
    bases = _bases(document, root)
    api = _Api(root=root, bases=bases, wish=wish, notes=notes, services=services)
    sketches: list[Sketch] = []
    if document.findings.count > faults or "paths" not in root:
        # Without its hosts a route would stand on every host.
        return sketches
    if "security" in root:
        notes.add(root["security"], SECURITY)
    for name, place, item in entries_of(root["paths"]):
        faults = document.findings.count
        found = () if name.startswith("x-") else tuple(_sketches(api, name, place, item))
        if document.findings.count == faults:
            sketches += found
        if len(sketches) > MOST_ROUTES:
            raise too_complex(place, f"more than {MOST_ROUTES} routes up to here")
    return sketches


def _bases(document: Place, root: Mapping[str, Place]) -> tuple[Base, ...]:
    swagger, version = text_at(root.get("swagger")), text_at(root.get("openapi"))
    if swagger.startswith("2."):
        return of_swagger(root)
    if version.startswith("3."):
        return of_servers(root.get("servers"))
    raise unreadable(document, "it says neither `openapi: 3...` nor `swagger: 2...`")


def _sketches(api: _Api, template: str, place: Place, item: Place) -> Iterator[Sketch]:
    if not template.startswith("/"):
        place.report("paths that begin with /", f"the path {quoted(template)}")
        return
    groups: dict[tuple[str, Base, str], list[str]] = {}
    for operation in _operations_of(api, item):
        for base in operation.bases:
            key = (operation.service, base, operation.id)
            groups.setdefault(key, []).append(operation.method)
    for (service, base, name), methods in groups.items():
        whole = f"{base.path}{template}"
        entries: dict[str, Node] = {
            "service": text(place, service),
            "path": path_match(place, whole),
            "methods": texts(place, sorted(method.upper() for method in methods)),
        }
        if name:
            entries["id"] = text(place, name)
        if base.hosts:
            entries["hosts"] = texts(place, base.hosts)
        wanted = Wanted(
            name=f"{api.wish.collection or service}.{of_path(whole)}",
            seed=" ".join((service, whole, *base.hosts)),
        )
        yield Sketch(place=place, entries=entries, wanted=wanted)


def _operations_of(api: _Api, place: Place) -> tuple[_Operation, ...]:
    """The operations of a path item, or of the one that its `$ref` names, within the document.

    One step, as the standard wants.
    """
    item = members(place)
    reference = text_at(item.get("$ref"))
    if not reference:
        return tuple(_operations(api, item))
    if reference in api.referred:
        known = api.referred[reference]
        if known is None:
            place.report(
                "path items without errors", f"that of {quoted(reference)}, which has some"
            )
        return known or ()
    target = _target(api, reference)
    if target is None:
        place.report(
            "path items in the file itself: join the files first", f"elsewhere: {quoted(reference)}"
        )
        return ()
    faults = place.findings.count
    found = tuple(_operations(api, members(target)))
    api.referred[reference] = found if place.findings.count == faults else None
    return found


def _target(api: _Api, reference: str) -> Place | None:
    """What a JSON pointer into the document names."""
    entries, target = api.root, None
    words = tuple(reference[2:].split("/")) if reference.startswith("#/") else ()
    for count, word in enumerate(words, 1):
        target = entries.get(word.replace("~1", "/").replace("~0", "~"))
        if target is None or count == len(words):
            break
        if words[:count] not in api.tables:
            api.tables[words[:count]] = members(target)
        entries = api.tables[words[:count]]
    return target


def _operations(api: _Api, item: Mapping[str, Place]) -> Iterator[_Operation]:
    own = of_servers(item["servers"]) if "servers" in item else api.bases
    for key, value in item.items():
        if key in METHODS:
            operation = members(value)
            servers = operation.get("servers")
            if "security" in operation:
                api.notes.add(operation["security"], SECURITY)
            yield _Operation(
                method=key,
                service=_service(api, operation, value),
                bases=of_servers(servers) if servers is not None else own,
                id=text_at(operation.get(ID_EXTENSION)),
            )
        elif key not in ITEM_KEYS and not key.startswith("x-"):
            value.report(
                f"{names_listed(METHODS)}, or an extension x-...", f"the method {quoted(key)}"
            )


def _service(api: _Api, operation: Mapping[str, Place], place: Place) -> str:
    """The one that was given, else that of the first tag that is a declared service's name."""
    if api.wish.service:
        return api.wish.service
    tags = [text_at(tag) for tag in listed(operation.get("tags")) if not is_null(tag.node)]
    for tag in tags:
        service = api.services.get(of_text(tag).lower())
        if service is not None:
            return service
    found = f"with the tags {names_listed(tags)}" if tags else "without a tag"
    place.report("a tag that is the name of a declared service, or give one for the file", found)
    return ""
