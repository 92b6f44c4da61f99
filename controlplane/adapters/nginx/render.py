"""A snapshot as nginx's configuration: the same content gives the same bytes.

Called by `wiring` for the courier and for `signalbox render`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.adapters.nginx import normal_form
from controlplane.adapters.nginx.access import Access, access, access_notes
from controlplane.adapters.nginx.expressible import NGINX, by_halves, expressible
from controlplane.adapters.nginx.limits import Limits
from controlplane.adapters.nginx.locations import NEXT, Locations, usual_headers
from controlplane.adapters.nginx.quoting import word
from controlplane.adapters.nginx.table import NO_ROUTE, HostTable, Table
from controlplane.adapters.nginx.tests import named_first
from controlplane.adapters.nginx.upstreams import Upstreams
from controlplane.domain.admission.agent_door import unasked
from controlplane.domain.instances.unlimited import unlearned
from controlplane.domain.policy_breakers import unkept
from controlplane.domain.policy_limits import source_limits
from controlplane.domain.routing.compiling.selection import crowded
from controlplane.domain.routing.matching.request import STICKY_COOKIE
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import EVERYWHERE, GatewayGroup
from controlplane.ports.outside import Artifact

CONFIGURATION = "nginx.conf"
EVERY_HOST, EVERY_VERSION = "*", "*"
STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"
# Whose request ids are believed: the same as Envoy's internal addresses.
INTERNAL = ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1", "fc00::/7")
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class NginxOptions:
    """What the file says about the machine that it is on.

    Attributes:
        group: gateway group of this nginx.
        directory: where it keeps its process id, status socket and temporary files.
        workers: processes; `auto` is one for each core.
    """

    group: str
    directory: str = "/run/nginx-signalbox"
    workers: str = "auto"


def render(
    snapshot: Snapshot, options: NginxOptions, left_out: Mapping[str, str] = NOTHING
) -> Artifact:
    """The file for one gateway group; notes name what was left out or is done by halves.

    Args:
        left_out: id of a route that this nginx refused -> its words.
    """
    group = next(
        (g for g in snapshot.content.routes.gateways if g.name == options.group),
        GatewayGroup(name=options.group),
    )
    selection = expressible(snapshot, group.name, left_out)
    upstreams = Upstreams(
        services={s.service: s for s in snapshot.content.endpoints.services},
        weights=_weights(snapshot, group),
    )
    limits = Limits(by_source=source_limits(snapshot.content.admission.policies))
    table = Table(Locations(upstreams, limits))
    table.add(selection.routes)
    section = snapshot.content.routes
    entry = access(section, group)
    text = "".join(f"{line}\n" for line in _configuration(snapshot, options, entry, table))
    return Artifact(
        revision=snapshot.revision,
        version=snapshot.version,
        parts=((CONFIGURATION, text.encode()),),
        snapshot=snapshot,
        notes=(
            *selection.notes,
            *by_halves(selection.routes),
            *crowded(table.crowded, NGINX),
            *upstreams.without_standby(),
            *upstreams.without_bound(),
            *upstreams.without_sessions(),
            *unlearned(snapshot.content.endpoints.services, "nginx"),
            *access_notes(section, entry),
            *unasked(group.name, group.agent, "nginx"),
            *unkept(snapshot.content, "nginx"),
        ),
    )


def _configuration(
    snapshot: Snapshot, options: NginxOptions, entry: Access, table: Table
) -> Iterator[str]:
    yield "# Made by signalbox; changes are overwritten."
    yield f"worker_processes {options.workers};"
    yield f"pid {word(options.directory + '/nginx.pid')};"
    yield "error_log stderr warn;"
    yield "pcre_jit on;"
    yield "worker_rlimit_nofile 65536;"
    yield "events { worker_connections 16384; }"
    yield "http {"
    yield from _indented(_http(options))
    yield from _indented(entry.of_http())
    yield from _indented(_who())
    yield from _indented(normal_form.maps())
    yield from _indented(table.tests.maps())
    yield from _indented(table.lists)
    yield from _indented(_zones(table))
    yield from _indented(table.locations.limits.zones(table.locations.upstreams.asked()))
    yield from _indented(table.locations.upstreams.lines())
    for server in _servers(table):
        yield from _indented(_server(server, entry, table))
    yield from _indented(_status(snapshot, options))
    yield "}"


def _http(options: NginxOptions) -> Iterator[str]:
    yield "access_log off;"
    yield "server_tokens off;"
    yield "large_client_header_buffers 4 32k;"
    yield "map_hash_max_size 65536;"
    yield "server_names_hash_max_size 65536;"
    yield "server_names_hash_bucket_size 256;"
    yield "variables_hash_max_size 65536;"
    yield "proxy_http_version 1.1;"
    yield "proxy_connect_timeout 250ms;"
    yield f"proxy_next_upstream {NEXT};"
    yield "limit_conn_status 503;"
    for name in TEMPORARY:
        yield f"{name}_temp_path {word(f'{options.directory}/{name}')};"


def _who() -> Iterator[str]:
    """Who asks: the sticky cookie, or the id of the request, which becomes the cookie."""
    yield 'geo $sb_dollar { default "$"; }'
    inside = " ".join(f"{network} 1;" for network in INTERNAL)
    yield f"geo $sb_internal {{ default 0; {inside} }}"
    yield (
        'map "$sb_internal:$http_x_request_id" $sb_rid '
        '{ "~^1:(?<sb_rid_is>.+)$" $sb_rid_is; default $request_id; }'
    )
    pattern = named_first(STICKY_COOKIE, ";", "sb_sid_is")
    yield f'map $http_cookie $sb_sid {{ {pattern} $sb_sid_is; default ""; }}'
    yield 'map $sb_sid $sb_who { "" $sb_rid; default $sb_sid; }'
    yield (
        f'map $sb_sid $sb_set_cookie {{ "" "{STICKY_COOKIE}=$sb_rid; {STICKY_ATTRIBUTES}"; '
        'default ""; }'
    )


def _zones(table: Table) -> Iterator[str]:
    for zone in table.locations.zones.values():
        yield f'limit_conn_zone "{zone}" zone={zone}:32k;'


def _servers(table: Table) -> list[HostTable]:
    """The server of every other host comes first, and there always is one."""
    rest = [server for server in table.servers if EVERY_HOST not in server.hosts]
    default = [server for server in table.servers if EVERY_HOST in server.hosts]
    return [*(default or [HostTable(hosts=(EVERY_HOST,), lines=())]), *rest]


def _server(server: HostTable, entry: Access, table: Table) -> Iterator[str]:
    yield "server {"
    default = " default_server" if EVERY_HOST in server.hosts else ""
    yield from _indented(entry.of_server(default))
    names = " ".join(word(host) for host in server.hosts if host != EVERY_HOST)
    yield f"    server_name {names or '_'};"
    yield from _indented(usual_headers())
    yield from _indented(normal_form.rewriting())
    yield from _indented(server.lines)
    if not any(line.startswith('location "/" ') for line in server.lines):
        yield '    location "/" { return 404 ""; }'
    yield from _indented(table.locations.lines(server.chosen))
    yield f'    location = {word(NO_ROUTE)} {{ return 404 ""; }}'
    yield "}"


def _status(snapshot: Snapshot, options: NginxOptions) -> Iterator[str]:
    """Which snapshot this is, for the courier."""
    yield "server {"
    yield f"    listen {word(f'unix:{options.directory}/status.sock')};"
    yield f'    location / {{ return 200 "{snapshot.revision}:{snapshot.version}\\n"; }}'
    yield "}"


def _weights(snapshot: Snapshot, group: GatewayGroup) -> dict[str, Mapping[str, int]]:
    sets = [w for w in snapshot.content.weights.weights if w.version == EVERY_VERSION]
    everywhere = {w.service: w.weights for w in sets if w.source_region == EVERYWHERE}
    here = {w.service: w.weights for w in sets if w.source_region == group.region}
    return {**everywhere, **here}


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)
