"""The parts of a fleet document about HTTP traffic: routes and whitelists.

Called by `sections`, and by the API for a single route. `conditions` reads what a request must be
like, `actions` what happens with it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from controlplane.api.fleet_document import actions
from controlplane.api.fleet_document.conditions import (
    ARGUMENT,
    HEADER,
    METHOD,
    VALUE,
    cohort,
    conditions,
    functions,
    hosts,
    methods,
    pairs,
    path_match,
    several,
    sources,
    user_agent,
)
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Unique,
    UniqueNames,
    fields,
    integer,
    matching,
    name,
    number,
    reference,
    text_of,
)
from controlplane.api.fleet_document.times import LATEST_S, time
from controlplane.domain.fleet_order import ordered
from controlplane.domain.routing.compiling.prefix_keys import MOST_REPETITIONS, repetitions
from controlplane.domain.routing.route import (
    Condition,
    PathMatch,
    Route,
    RouteCheck,
)
from controlplane.domain.routing.whitelist import Whitelist

ROUTE_KEYS = (
    "id",
    *actions.ACTIONS,
    "hosts",
    "path",
    "methods",
    "conditions",
    "user_agent",
    "sources",
    "functions",
    "cohort",
    "gateways",
    "priority",
    *actions.OF_SERVICES,
    "response_headers",
    "transform",
    "authentication",
    "valid_from",
    "valid_until",
    "ttl_s",
    "tls",
    "labels",
    "checks",
)
CHECK_KEYS = (
    "path",
    "host",
    "method",
    "headers",
    "source",
    "gateway",
    "route",
    "service",
    "status",
)
MOST_PRIORITY = 100_000
# What a client may send: our own rules about paths do not hold for it.
REQUEST_PATH = matching(
    re.compile(r"/[^\x00-\x20]{0,8191}"), "a path that begins with /, as a client sends it"
)
REQUEST_HOST = matching(re.compile(r"[!-~]{1,255}", re.ASCII), "a host as a client names it")
ADDRESS = matching(re.compile(r"[0-9a-fA-F.:]{2,45}", re.ASCII), "an IP address")
MOST_TTL_S = 366.0 * 86_400
TTL_RULE = f"a number of seconds above 0, up to {MOST_TTL_S:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What else is declared, and when the document is read (UTC epoch seconds)."""

    services: Collection[str]
    gateways: Collection[str]
    now_s: float
    callers: Collection[str] = ()
    certificates: Collection[str] = ()


def routes(place: Place, around: Surroundings) -> tuple[Route, ...]:
    """All routes; those that no request could tell apart are errors."""
    ids, rules = UniqueNames(), Unique()
    found: list[Route] = []
    for item in place.items("a list of routes"):
        entries = fields(item, ROUTE_KEYS)
        read = _route(entries, around)
        if "id" in entries.places:
            ids.check(entries.places["id"])
        for host in read.hosts:
            if host and read.path.value:
                rules.check(told_apart_by(read, host), item)
        found.append(read)
    for host, count in repetitions(found).items():
        if count > MOST_REPETITIONS:
            place.report(
                f"up to {MOST_REPETITIONS}: begin expressions and templates with a path of their "
                "own, ask fewer things of routes with short paths, or give them another host",
                f"on host {host or '?'} routes with short paths would stand {count} times beside "
                "those with longer ones",
            )
    return tuple(found)


def route(place: Place, around: Surroundings) -> Route:
    """One route of its own document."""
    return _route(fields(place, ROUTE_KEYS), around)


def addressed_route(place: Place, around: Surroundings, route_id: str) -> Route:
    """One route of its own document, which is addressed by its id."""
    entries = fields(place, ROUTE_KEYS)
    at = entries.places.get("id")
    if at is not None and text_of(at) != route_id:
        at.report(f"{route_id}, as in the address, or nothing")
    return _route(entries, around, route_id)


def told_apart_by(route: Route, host: str) -> str:
    """Everything that tells a route's requests from those of others."""
    words = f"host {host} {route.path.type} {route.path.value}"
    return words if route.rules == _PLAIN.rules else f"{words} {route.rules}"


_PLAIN = Route(id="")


def _route(entries: Fields, around: Surroundings, route_id: str = "") -> Route:
    opt = entries.optional
    group = reference("gateway group", around.gateways)
    caller = reference("caller policy", around.callers)
    begins, ends = _validity(entries, around.now_s)
    read = Route(
        id=route_id or entries.required("id", name, ""),
        service=opt("service", reference("service", around.services), ""),
        redirect=opt("redirect", actions.redirect, None),
        response=opt("response", actions.response, None),
        hosts=opt("hosts", hosts, _PLAIN.hosts),
        path=opt("path", path_match, PathMatch()),
        methods=opt("methods", methods, ()),
        conditions=_conditions(entries),
        sources=opt("sources", sources, ()),
        functions=opt("functions", functions, ()),
        cohort=opt("cohort", cohort, None),
        gateways=opt("gateways", several(group, "gateway groups"), ()),
        priority=opt("priority", integer(-MOST_PRIORITY, MOST_PRIORITY), 0),
        versions=opt("versions", actions.versions, ()),
        queue=opt("queue", actions.queue, None),
        rewrite=opt("rewrite", actions.rewrite, None),
        request_headers=opt("request_headers", actions.header_changes, None),
        response_headers=opt("response_headers", actions.header_changes, None),
        transform=opt("transform", name, ""),
        authentication=opt("authentication", several(caller, "caller policies"), ()),
        timeout_ms=opt("timeout_ms", integer(1, 3_600_000), None),
        retries=opt("retries", integer(0, 100), None),
        valid_from_s=begins,
        valid_until_s=ends,
        tls=opt("tls", reference("certificate", around.certificates), ""),
        labels=opt("labels", pairs(name, ARGUMENT), ()),
        checks=opt("checks", _checks, ()),
    )
    actions.check_actions(entries, read)
    return ordered(read)


def _conditions(entries: Fields) -> tuple[Condition, ...]:
    none: tuple[Condition, ...] = ()
    declared = entries.optional("conditions", conditions, none)
    agent = entries.optional("user_agent", lambda at: (user_agent(at),), none)
    return (*declared, *agent)


def _validity(entries: Fields, now_s: float) -> tuple[float | None, float | None]:
    """From when until when; a lifetime counts from the time of reading."""
    begins = entries.optional("valid_from", time, None)
    ends = entries.optional("valid_until", time, None)
    ttl_s = entries.optional("ttl_s", number(0.0, MOST_TTL_S, above=TTL_RULE), None)
    if ttl_s is not None and ends is not None:
        entries.places["ttl_s"].report("either valid_until or ttl_s")
    elif ttl_s is not None:
        # To the millisecond, so that it reads back from RFC 3339 as the same number.
        ends = round(max(now_s, begins or now_s) + ttl_s, 3)
        if ends > LATEST_S:
            entries.places["ttl_s"].report("a lifetime that ends before the year 10000")
    if begins is not None and ends is not None and begins >= ends:
        entries.places["valid_from"].report("a time before the end of the route")
    return begins, ends


def _checks(place: Place) -> tuple[RouteCheck, ...]:
    return tuple(_check(item) for item in place.items("a list of test requests"))


def _check(place: Place) -> RouteCheck:
    entries = fields(place, CHECK_KEYS)
    usual = RouteCheck(path="/")
    return RouteCheck(
        path=entries.required("path", REQUEST_PATH, "/"),
        host=entries.optional("host", REQUEST_HOST, usual.host),
        method=entries.optional("method", METHOD, usual.method),
        headers=entries.optional("headers", pairs(HEADER, VALUE), ()),
        source=entries.optional("source", ADDRESS, ""),
        gateway=entries.optional("gateway", name, ""),
        route=entries.optional("route", name, ""),
        service=entries.optional("service", name, ""),
        status=entries.optional("status", integer(100, 599), None),
    )


def whitelists(place: Place) -> tuple[Whitelist, ...]:
    """Hosts on which only listed paths pass."""
    ids = UniqueNames()
    found = []
    for item in place.items("a list of whitelists"):
        entries = fields(item, ("id", "hosts", "channel", "status"))
        if "id" in entries.places:
            ids.check(entries.places["id"])
        found.append(
            Whitelist(
                id=entries.required("id", name, ""),
                hosts=entries.required("hosts", hosts, ()),
                channel=entries.optional("channel", conditions, ()),
                status=entries.optional("status", integer(400, 599), 403),
            )
        )
    return tuple(found)
