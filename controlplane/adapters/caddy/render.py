"""A snapshot as Caddy's JSON: the same content gives the same bytes.

Called by `proxies` for the courier and for `signalbox render`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.adapters.caddy import normal_form
from controlplane.adapters.caddy.access import (
    certificates,
    listening,
    of_zone,
    served_hosts,
)
from controlplane.adapters.caddy.expressible import expressible
from controlplane.adapters.caddy.handlers import SET_COOKIE, answer
from controlplane.adapters.caddy.matchers import (
    USER,
    WHO,
    Json,
    all_of,
    cookie,
    negated,
    text,
)
from controlplane.adapters.caddy.normal_form import RAW
from controlplane.adapters.caddy.table import tables
from controlplane.adapters.caddy.upstreams import Upstreams
from controlplane.domain.admission.agent_door import unasked
from controlplane.domain.policy_breakers import unkept
from controlplane.domain.routing.callers.policies import REMOVED_HEADERS
from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE
from controlplane.domain.snapshot import RoutesSection, Snapshot
from controlplane.domain.topology import EVERYWHERE, GatewayGroup
from controlplane.ports.outside import Artifact

CONFIGURATION = "caddy.json"
SERVER = "signalbox"
EVERY_VERSION = "*"
STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"
# Whose request ids are believed: the same as Envoy's internal addresses.
INTERNAL = ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaddyOptions:
    """What the configuration says about the machine that it is for.

    Attributes:
        group: gateway group of this Caddy.
        admin: address of its admin API, `HOST:PORT` or `unix//PATH`.
    """

    group: str
    admin: str = "localhost:2019"


def render(
    snapshot: Snapshot, options: CaddyOptions, left_out: Mapping[str, str] = NOTHING
) -> Artifact:
    """The configuration of one gateway group; notes name what was left out or is done by halves.

    Args:
        left_out: id of a route that this Caddy refused -> its words.
    """
    section = snapshot.content.routes
    group = next(
        (g for g in section.gateways if g.name == options.group), GatewayGroup(name=options.group)
    )
    ports = [] if group.tls_port is None else [group.tls_port]
    hosts = served_hosts(section, group)
    selection = expressible(snapshot, group.name, left_out)
    upstreams = Upstreams(
        services={s.service: s for s in snapshot.content.endpoints.services},
        weights=_weights(snapshot, group),
    )
    found = list(tables(selection.routes, selection.closed, upstreams))
    server: Json = {
        "@id": mark(snapshot.revision, snapshot.version),
        **listening(group, hosts),
        "named_routes": upstreams.named(),
        "routes": [*_entry(section, group), *found, {"handle": [answer(404)]}],
    }
    # On the port for HTTP a server speaks no TLS, whatever else it serves.
    http = {"http_port": group.listen_port, "servers": {SERVER: server}}
    whole = {
        "admin": {"listen": options.admin},
        "apps": {"http": http, **certificates(hosts)},
    }
    return Artifact(
        revision=snapshot.revision,
        version=snapshot.version,
        parts=((CONFIGURATION, json.dumps(whole, indent=1, sort_keys=True).encode() + b"\n"),),
        snapshot=snapshot,
        notes=(
            *selection.notes,
            *upstreams.notes(),
            *certificate_notes(section.routes, ports),
            *unasked(group.name, group.agent, "Caddy"),
            *unkept(snapshot.content, "Caddy"),
        ),
    )


def mark(revision: int, version: str) -> str:
    """What a configuration says of its snapshot."""
    return f"signalbox:{revision}:{version}"


def _entry(section: RoutesSection, group: GatewayGroup) -> Iterator[Json]:
    """What is done with each request before a host is looked for."""
    yield from of_zone(section, group)
    yield from normal_form.refusing()
    yield from normal_form.rewriting()
    yield _with(text(RAW, r"\A[^?]*(\?.+)\z", "query"), "sb_query", "{http.regexp.query.1}")
    yield from _who()
    deletion = {"handler": "headers", "request": {"delete": list(REMOVED_HEADERS)}}
    yield {"handle": [deletion]}


def _who() -> Iterator[Json]:
    """Who asks: the sticky cookie, or the id of the request, which becomes the cookie."""
    named = f"{{http.request.header.{REQUEST_ID}}}"
    believed = all_of([{"remote_ip": {"ranges": list(INTERNAL)}}, text(named, ".")])
    identified = {"handler": "headers", "request": {"set": {REQUEST_ID: ["{http.request.uuid}"]}}}
    yield {"match": [negated(believed)], "handle": [identified]}
    yield {"handle": [{"handler": "vars", "sb_who": named}]}
    yield _with(cookie(STICKY_COOKIE, "sid"), "sb_sid", "{http.regexp.sid.1}")
    yield _with(text(USER, "."), WHO[len("{http.vars.") : -1], USER)
    line = f"{STICKY_COOKIE}={named}; {STICKY_ATTRIBUTES}"
    told = {"handler": "headers", "response": {"add": {SET_COOKIE: [line]}}}
    yield {"match": [negated(text(USER, "."))], "handle": [told]}


def _with(matcher: Json, name: str, value: str) -> Json:
    return {"match": [matcher], "handle": [{"handler": "vars", name: value}]}


def _weights(snapshot: Snapshot, group: GatewayGroup) -> dict[str, Mapping[str, int]]:
    sets = [w for w in snapshot.content.weights.weights if w.version == EVERY_VERSION]
    everywhere = {w.service: w.weights for w in sets if w.source_region == EVERYWHERE}
    here = {w.service: w.weights for w in sets if w.source_region == group.region}
    return {**everywhere, **here}
