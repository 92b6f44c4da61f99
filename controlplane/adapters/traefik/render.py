"""A snapshot as Traefik's files: the same content gives the same bytes.

Called by `proxies` for `signalbox render`. `traefik.yaml` is for its start and says where it
listens; `dynamic.yaml` is watched. Traefik reads the second one as a template, so a brace in a
text is written as its number.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.adapters.traefik.expressible import expressible
from controlplane.adapters.traefik.middlewares import Json, Middlewares
from controlplane.adapters.traefik.table import HTTP, HTTPS, Compiler
from controlplane.adapters.traefik.upstreams import Upstreams
from controlplane.domain.admission.agent_door import unasked
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.policy_breakers import unkept
from controlplane.domain.routing.certificate_notes import certificate_notes
from controlplane.domain.routing.tls import Certificate, tls_hosts
from controlplane.domain.snapshot import RoutesSection, Snapshot
from controlplane.domain.topology import EVERYWHERE, GatewayGroup
from controlplane.ports.outside import Artifact

START, WATCHED = "traefik.yaml", "dynamic.yaml"
EVERY_VERSION = "*"
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class TraefikOptions:
    """What the files say about the machine that they are for.

    Attributes:
        group: gateway group of this Traefik.
        directory: where the watched file is.
    """

    group: str
    directory: str = "/etc/traefik"


def render(snapshot: Snapshot, options: TraefikOptions) -> Artifact:
    """The files for one gateway group; notes name what was left out or is done by halves."""
    section = snapshot.content.routes
    group = next(
        (g for g in section.gateways if g.name == options.group), GatewayGroup(name=options.group)
    )
    certificates = _certificates(section, group)
    selection = expressible(snapshot, group.name)
    middlewares = Middlewares()
    upstreams = Upstreams(
        services={s.service: s for s in snapshot.content.endpoints.services},
        weights=_weights(snapshot, group),
    )
    compiler = Compiler(
        middlewares=middlewares,
        upstreams=upstreams,
        entry=tuple(middlewares.entry(_sources(section, group))),
        entry_points=(HTTP, HTTPS) if certificates else (HTTP,),
        closed=selection.closed,
    )
    routers = compiler.routers(selection.routes)
    found = {
        "routers": routers,
        "middlewares": middlewares.named(),
        "services": upstreams.named(),
        "serversTransports": upstreams.transports(),
    }
    http = {name: made for name, made in found.items() if made}
    mark = f"# signalbox:{snapshot.revision}:{snapshot.version}\n"
    watched = {"http": http, **_tls(certificates)}
    start = _start(group, options.directory, secure=bool(certificates))
    ports = [] if group.tls_port is None else [group.tls_port]
    return Artifact(
        revision=snapshot.revision,
        version=snapshot.version,
        parts=((START, _text(start)), (WATCHED, mark.encode() + _text(watched))),
        snapshot=snapshot,
        notes=(
            *selection.notes,
            *unasked(group.name, group.agent, "Traefik"),
            *unkept(snapshot.content, "Traefik"),
            *upstreams.notes(),
            *certificate_notes(section.routes, ports),
            *_shared(certificates),
        ),
    )


def _start(group: GatewayGroup, directory: str, *, secure: bool) -> Json:
    """What Traefik reads once."""
    points: dict[str, Json] = {HTTP: {"address": f"{group.listen_address}:{group.listen_port}"}}
    if secure:
        address = f"{group.listen_address}:{group.tls_port}"
        points[HTTPS] = {"address": address, "http": {"tls": {}}}
    return {
        "entryPoints": points,
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "providers": {"file": {"filename": f"{directory}/{WATCHED}", "watch": True}},
    }


def _certificates(section: RoutesSection, group: GatewayGroup) -> tuple[Certificate, ...]:
    """Those that the group shows; Traefik picks one by the names that stand in it."""
    hosts = tls_hosts(section.certificates, section.routes) if group.tls_port else ()
    return tuple(host.certificate for host in hosts)


def _tls(certificates: tuple[Certificate, ...]) -> Json:
    if not certificates:
        return {}
    files = [{"certFile": one.chain_file, "keyFile": one.key_file} for one in certificates]
    oldest = min(one.minimum_version for one in certificates)
    options = {"minVersion": f"VersionTLS{oldest.replace('.', '')}", "sniStrict": True}
    return {"tls": {"certificates": files, "options": {"default": options}}}


def _shared(certificates: tuple[Certificate, ...]) -> Iterable[Observation]:
    """Certificates that want a newer version than Traefik asks for."""
    oldest = min((one.minimum_version for one in certificates), default=None)
    for one in certificates:
        if one.minimum_version != oldest:
            yield Observation(
                code="tls_version_shared",
                subject=f"certificate/{one.name}",
                message="Traefik speaks the same versions of TLS for all names on a port, and "
                f"certificate {one.name} wants {one.minimum_version} at least: give all "
                "certificates the same minimum_version",
                held=f"its hosts speak {oldest} too",
                severity=Severity.WARNING,
            )


def _sources(section: RoutesSection, group: GatewayGroup) -> tuple[str, ...]:
    """Addresses that may come in to the group's zone; () is anybody."""
    zone = next((zone for zone in section.zones if zone.name == group.zone), None)
    return () if zone is None else zone.sources


def _weights(snapshot: Snapshot, group: GatewayGroup) -> dict[str, Mapping[str, int]]:
    sets = [w for w in snapshot.content.weights.weights if w.version == EVERY_VERSION]
    everywhere = {w.service: w.weights for w in sets if w.source_region == EVERYWHERE}
    here = {w.service: w.weights for w in sets if w.source_region == group.region}
    return {**everywhere, **here}


def _text(made: Json) -> bytes:
    """JSON, which is YAML, without two braces that would open one of Traefik's templates."""
    text = json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False)
    return (_TEXT.sub(_plain, text) + "\n").encode()


def _plain(found: re.Match[str]) -> str:
    return found.group().replace("{", r"\u007b")
