"""The filters of an HTTPRoute rule: header changes, redirect, rewrite; every other is refused.

Called by `http_route`. The standard forbids to skip a filter, so a rule with one that cannot be
said is left out.
"""

from collections.abc import Callable, Mapping, Sequence

from controlplane.api.fleet_document.findings import quoted
from controlplane.api.fleet_document.nodes import Node, Table
from controlplane.api.fleet_document.reading import Place, fields
from controlplane.api.route_documents.documents import listed, text_at
from controlplane.api.route_documents.imports import Notes
from controlplane.api.route_documents.sketches import table, text, texts
from controlplane.domain.routing.route import PathMatchType

FULL, PREFIX = "ReplaceFullPath", "ReplacePrefixMatch"
WELL_KNOWN_PORTS = {"http": "80", "https": "443"}
# What a redirect without a port does otherwise than the standard.
_USUAL_PORT = (
    "a redirect to a hostname without a scheme and a port leads to the usual port of the scheme; "
    "the standard takes that of the listener: name the port where it is another one"
)
_KEPT_PORT = (
    "a redirect to a scheme without a hostname keeps the port that the caller named; the standard "
    "takes the scheme's usual one: name the hostname where callers name ports"
)


def filtered(place: Place | None, kinds: Sequence[str], notes: Notes) -> dict[str, Node]:
    """The filters as entries of a route.

    Args:
        kinds: of the paths of the rule's matches; a prefix can be replaced where all are prefixes.
    """
    found: dict[str, Node] = {}
    for item in listed(place):
        entries = fields(item, ("type", *_MEMBERS.values(), *_REFUSED.values())).places
        kind = text_at(entries.get("type"))
        if kind not in _MEMBERS:
            item.report(f"filters of the types {', '.join(_MEMBERS)}", f"the filter {quoted(kind)}")
            continue
        if _MEMBERS[kind] not in entries:
            item.report(f"{_MEMBERS[kind]} beside this type", "missing")
            continue
        name, read = _READERS[kind]
        if name in found:
            item.report("each filter once", f"the filter {kind} again")
        found[name] = read(entries[_MEMBERS[kind]], kinds, notes)
    if "redirect" in found and "rewrite" in found and place is not None:
        place.report("either a RequestRedirect or a URLRewrite filter")
    return found


def _headers(place: Place, _kinds: Sequence[str], _notes: Notes) -> Table:
    entries = fields(place, ("set", "add", "remove")).places
    if listed(entries.get("add")):
        entries["add"].report("set and remove only: our routes add no second value to a header")
    changes: dict[str, Node] = {}
    pairs: dict[str, Node] = {}
    for item in listed(entries.get("set")):
        header = fields(item, ("name", "value")).places
        name = text_at(header.get("name")).lower()
        if name in pairs:
            item.report("one change of each header", f"the header {quoted(name)} again")
        pairs[name] = header["value"].node if "value" in header else text(item, "")
    removed = [text_at(item).lower() for item in listed(entries.get("remove"))]
    if twice := sorted(pairs.keys() & set(removed)):
        place.report("one change of each header", f"set and removed: {', '.join(twice)}")
    if pairs:
        changes["set"] = table(place, pairs)
    if removed:
        changes["remove"] = texts(place, removed)
    return table(place, changes)


def _redirect(place: Place, _kinds: Sequence[str], notes: Notes) -> Table:
    entries = fields(place, ("scheme", "hostname", "path", "port", "statusCode")).places
    scheme, host = text_at(entries.get("scheme")), text_at(entries.get("hostname"))
    port = text_at(entries.get("port"))
    if port and port != WELL_KNOWN_PORTS.get(scheme):
        if not host:
            entries["port"].report("a hostname beside a port, so that the address is whole")
        host = f"{host}:{port}"
    if scheme and not host:
        notes.add(place, _KEPT_PORT)
    if host and not (scheme or port):
        notes.add(place, _USUAL_PORT)
    found: dict[str, Node] = {}
    if "statusCode" in entries:
        found["status"] = entries["statusCode"].node
    if scheme:
        found["scheme"] = text(entries["scheme"], scheme)
    if host:
        found["host"] = text(place, host)
    if "path" in entries:
        kind, value = _modifier(entries["path"])
        if kind == PREFIX:
            entries["path"].report(f"{FULL}: our redirects know no part of a path")
        found["path"] = value
    return table(place, found)


def _rewrite(place: Place, kinds: Sequence[str], _notes: Notes) -> Table:
    entries = fields(place, ("hostname", "path")).places
    found: dict[str, Node] = {}
    if "hostname" in entries:
        found["host"] = entries["hostname"].node
    if "path" in entries:
        kind, value = _modifier(entries["path"])
        if kind == PREFIX and any(each != PathMatchType.PATH_PREFIX for each in kinds):
            entries["path"].report(f"{PREFIX} beside matches of the type PathPrefix only")
        found["prefix" if kind == PREFIX else "path"] = value
    return table(place, found)


def _modifier(place: Place) -> tuple[str, Node]:
    """The type of a path change and the new path or prefix."""
    entries = fields(place, ("type", "replaceFullPath", "replacePrefixMatch")).places
    kind = text_at(entries.get("type"))
    at = entries.get("replacePrefixMatch" if kind == PREFIX else "replaceFullPath")
    if kind not in (FULL, PREFIX) or at is None:
        place.report(f"{FULL} with replaceFullPath, or {PREFIX} with replacePrefixMatch")
        return kind, text(place, "/")
    value = text_at(at)
    # With a prefix the standard takes nothing, and a slash at the end, for the path above.
    return kind, text(at, value.rstrip("/") or "/" if kind == PREFIX else value or "/")


_MEMBERS = {
    "RequestHeaderModifier": "requestHeaderModifier",
    "ResponseHeaderModifier": "responseHeaderModifier",
    "RequestRedirect": "requestRedirect",
    "URLRewrite": "urlRewrite",
}
_REFUSED = {
    "RequestMirror": "requestMirror",
    "CORS": "cors",
    "ExternalAuth": "externalAuth",
    "ExtensionRef": "extensionRef",
}
_READERS: Mapping[str, tuple[str, Callable[[Place, Sequence[str], Notes], Table]]] = {
    "RequestHeaderModifier": ("request_headers", _headers),
    "ResponseHeaderModifier": ("response_headers", _headers),
    "RequestRedirect": ("redirect", _redirect),
    "URLRewrite": ("rewrite", _rewrite),
}
