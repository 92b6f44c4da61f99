"""What happens with a request that gets a route: service, redirect or response, and changes.

Called by `routes`. Exactly one of the three is declared; what belongs to one only is refused
beside the others.
"""

import re
from collections.abc import Collection

from controlplane.api.fleet_document.addresses import path
from controlplane.api.fleet_document.conditions import (
    HEADER,
    HOST,
    HOST_HEADERS,
    VALUE,
    pairs,
    several,
)
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    fields,
    integer,
    matching,
    name,
    text_of,
)
from controlplane.domain.routing.route import (
    WHOLE,
    FixedResponse,
    HeaderChanges,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
    VersionWeight,
)

ACTIONS = ("service", "redirect", "response")
# They say how a service is reached.
OF_SERVICES = ("versions", "queue", "rewrite", "request_headers", "timeout_ms", "retries")
REDIRECTS = (301, 302, 303, 307, 308)
MOST_BODY = 4_096
# Connections and lengths are the data plane's own business.
KEPT_HEADERS = HOST_HEADERS | {
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
SCHEME = matching(re.compile(r"https?", re.ASCII), "http or https")
PLAIN_HOST = matching(
    re.compile(rf"(?!\*){HOST.pattern}(:[1-9][0-9]{{0,4}})?", re.ASCII),
    "a host name in lower case, a port may follow",
)
CONTENT_TYPE = matching(
    re.compile(r"[a-z0-9.+-]{1,64}/[a-z0-9.+-]{1,64}(; ?[a-z]{1,16}=[A-Za-z0-9-]{1,32})?"),
    "a media type, as text/plain",
)


def versions(place: Place) -> tuple[VersionWeight, ...]:
    """Parts of a service's requests by version; they sum to 10,000."""
    faults = place.findings.count
    found = several(_version, "versions")(place)
    names = [each.version for each in found]
    if place.findings.count > faults:
        return found
    if len(set(names)) < len(names):
        place.report("each version once", "the same version twice")
    elif (total := sum(each.weight for each in found)) != WHOLE:
        place.report(f"weights that sum to {WHOLE}", f"with weights that sum to {total}")
    return found


def _version(place: Place) -> VersionWeight:
    entries = fields(place, ("version", "weight"))
    return VersionWeight(
        version=entries.required("version", name, ""),
        weight=entries.required("weight", integer(0, WHOLE), 0),
    )


def queue(place: Place) -> SlowQueue:
    """How many at once, and how many wait."""
    entries = fields(place, ("concurrent", "waiting"))
    usual = SlowQueue()
    return SlowQueue(
        concurrent=entries.optional("concurrent", integer(1, 100_000), usual.concurrent),
        waiting=entries.optional("waiting", integer(0, 1_000_000), usual.waiting),
    )


def redirect(place: Place) -> Redirect:
    """Another address; at least one part of it changes."""
    entries = fields(place, ("status", "scheme", "host", "path"))
    found = Redirect(
        status=entries.optional("status", _redirect_status, 302),
        scheme=entries.optional("scheme", SCHEME, ""),
        host=entries.optional("host", PLAIN_HOST, ""),
        path=entries.optional("path", path, ""),
    )
    if not {"scheme", "host", "path"} & entries.places.keys():
        place.report("at least one of scheme, host and path", "a redirect to the same address")
    return found


def _redirect_status(place: Place) -> int:
    words = ", ".join(map(str, REDIRECTS))
    if (text_of(place) or "") not in map(str, REDIRECTS):
        place.report(f"one of {words}")
        return REDIRECTS[0]
    return int(text_of(place) or "0")


def response(place: Place) -> FixedResponse:
    """An answer without a service."""
    entries = fields(place, ("status", "body", "content_type"))
    usual = FixedResponse()
    return FixedResponse(
        status=entries.optional("status", integer(200, 599), usual.status),
        body=entries.optional("body", _body, usual.body),
        content_type=entries.optional("content_type", CONTENT_TYPE, usual.content_type),
    )


def _body(place: Place) -> str:
    value = text_of(place)
    readable = value is not None and all(c.isprintable() or c in "\n\t" for c in value)
    if value is None or not readable or len(value.encode(errors="replace")) > MOST_BODY:
        place.report(f"up to {MOST_BODY} bytes of readable text")
        return ""
    return value


def rewrite(place: Place) -> Rewrite:
    """What the service sees instead of host and path."""
    entries = fields(place, ("host", "prefix", "path"))
    found = Rewrite(
        host=entries.optional("host", PLAIN_HOST, ""),
        prefix=entries.optional("prefix", path, ""),
        path=entries.optional("path", path, ""),
    )
    if not entries.places:
        place.report("at least one of host, prefix and path", "a rewrite of nothing")
    if found.prefix and found.path:
        entries.places["path"].report("either prefix or path")
    return found


def header_changes(place: Place) -> HeaderChanges:
    """Headers that are set or removed."""
    entries = fields(place, ("set", "remove"))
    found = HeaderChanges(
        set=entries.optional("set", pairs(_changed_header, VALUE), ()),
        remove=entries.optional("remove", several(_changed_header, "headers"), ()),
    )
    if not entries.places:
        place.report("at least one of set and remove", "a change of nothing")
    return found


def _changed_header(place: Place) -> str:
    value = HEADER(place)
    if value in KEPT_HEADERS:
        place.report("a header that is not the data plane's own")
    return value


def check_actions(entries: Fields, route: Route) -> None:
    """Exactly one action, and nothing beside it that belongs to another."""
    given = [action for action in ACTIONS if action in entries.places]
    if not given:
        entries.place.report("one of service, redirect and response", "without an action")
    for action in given[1:]:
        entries.places[action].report(f"only one of {', '.join(ACTIONS)}: {given[0]} is here too")
    if given and given[0] != "service":
        _refuse(entries, OF_SERVICES, f"without a service: the action is {given[0]}")
    if (route.rewrite is not None and route.rewrite.prefix) and (
        route.path.type is not PathMatchType.PATH_PREFIX
    ):
        entries.places["rewrite"].report("a prefix beside a PathPrefix only; give path instead")


def _refuse(entries: Fields, names: Collection[str], found: str) -> None:
    for each in names:
        if each in entries.places:
            entries.places[each].report("for routes to a service only", found)
