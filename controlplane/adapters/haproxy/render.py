"""A snapshot as HAProxy's files: the same content gives the same bytes.

Called by `wiring` for the courier and for `signalbox render`. Files are `haproxy.cfg` and maps,
all in one folder; `revision.map` says which snapshot they were made from.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.adapters.haproxy import backends, frontend, limits
from controlplane.adapters.haproxy.access import Access, access, access_notes
from controlplane.adapters.haproxy.backends import Reach
from controlplane.adapters.haproxy.expressible import HAPROXY, by_halves, expressible
from controlplane.adapters.haproxy.frontend import HOSTS_FILE, PATHS_FILE, SUFFIXES_FILE
from controlplane.adapters.haproxy.quoting import word
from controlplane.adapters.haproxy.table import EVERY_HOST, Table, compiled
from controlplane.adapters.haproxy.targets import NO_ROUTE, Target, service_section
from controlplane.domain.admission.agent_door import unasked
from controlplane.domain.instances.backups import late_standbys
from controlplane.domain.instances.unlimited import unlearned
from controlplane.domain.instances.unrepeated import unbudgeted
from controlplane.domain.policy_breakers import unkept
from controlplane.domain.policy_limits import source_limits
from controlplane.domain.routing.compiling.selection import crowded
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import EVERYWHERE, GatewayGroup
from controlplane.ports.outside import Artifact

CONFIGURATION, REVISION_FILE = "haproxy.cfg", "revision.map"
REVISION_KEY = "revision"
EVERY_VERSION = "*"
# Tasks that a thread runs between two questions to the kernel (HAProxy's own: at most 280), and
# what it takes from one (its own: 200), so that what it just read is still at hand. With 2,000 busy
# connections on a thread a request takes 11.7 us in place of 14.5; with 64 nothing changes.
RUN_QUEUE, POLLED = 1_000, 64
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyOptions:
    """What the files say about the machine that they are on.

    Attributes:
        group: gateway group of this HAProxy.
        socket: path of the runtime socket.
        pattern_cache: entries of the cache of expressions; 0 is none.
    """

    group: str
    socket: str = "/run/haproxy/signalbox.sock"
    pattern_cache: int = 10_000


def render(
    snapshot: Snapshot, options: HaproxyOptions, left_out: Mapping[str, str] = NOTHING
) -> Artifact:
    """The files for one gateway group; notes name what was left out or is done by halves.

    Args:
        left_out: id of a route that this HAProxy refused -> its words.
    """
    group = next(
        (g for g in snapshot.content.routes.gateways if g.name == options.group),
        GatewayGroup(name=options.group),
    )
    selection = expressible(snapshot, group.name, left_out)
    table = compiled(selection.routes)
    section = snapshot.content.routes
    entry = access(section, group, table.targets.in_order())
    content = _Content(group=group, table=table, access=entry, reaches=_reaches(snapshot, group))
    parts = (
        (CONFIGURATION, _text(_configuration(options, content))),
        (PATHS_FILE, _text(f"{key} {value}" for key, value in sorted(table.paths.items()))),
        (HOSTS_FILE, _text(_hosts(table))),
        (SUFFIXES_FILE, _text(_suffixes(table))),
        *entry.files(),
        (REVISION_FILE, f"{REVISION_KEY} {snapshot.revision}:{snapshot.version}\n".encode()),
    )
    return Artifact(
        revision=snapshot.revision,
        version=snapshot.version,
        parts=parts,
        snapshot=snapshot,
        notes=(
            *selection.notes,
            *by_halves(selection.routes),
            *crowded(table.crowded, HAPROXY),
            *access_notes(section, group),
            *unasked(group.name, group.agent, "HAProxy"),
            *unkept(snapshot.content, "HAProxy"),
            *late_standbys(((r.service, r.weights) for r in content.reaches.values()), "HAProxy"),
            *unbudgeted((r.service for r in content.reaches.values()), "HAProxy"),
            *unlearned((r.service for r in content.reaches.values()), "HAProxy"),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    group: GatewayGroup
    table: Table
    access: Access
    reaches: dict[str, Reach]


def _configuration(options: HaproxyOptions, content: _Content) -> Iterator[str]:
    yield "# Made by signalbox; changes are overwritten."
    yield from _section(_global(options))
    yield from _section(_defaults())
    targets = _with_tracked(content.table.targets.in_order())
    asks = _asks(content.table, targets, content.reaches)
    yield from _section(frontend.section(content.group, content.table, content.access, asks))
    for target in targets:
        yield from _section(backends.section(target, content.reaches.get(target.service)))
    for name in sorted({target.service for target in targets} & set(content.reaches)):
        reach = content.reaches[name]
        for lines in limits.tables(reach.service, reach.by_source):
            yield from _section(iter(lines))
    for lines in content.access.callers.sections:
        yield from _section(iter(lines))
    yield from _section(_no_route())


def _no_route() -> Iterator[str]:
    yield f"backend {NO_ROUTE}"
    # Keeps the map in memory, for those who ask what runs.
    yield f"http-request set-var(txn.t) str({REVISION_KEY}),map_str({REVISION_FILE})"
    yield "http-request return status 404"


def _asks(table: Table, targets: list[Target], reaches: dict[str, Reach]) -> frontend.Asks:
    sticky = any(
        reaches[target.service].service.load_balancing.sticky
        for target in targets
        if target.service
    )
    if sticky or table.tests.ask_who:
        return frontend.Asks.USER
    served = any(target.service for target in targets)
    return frontend.Asks.REQUEST if served else frontend.Asks.NOTHING


def _with_tracked(targets: Iterable[Target]) -> list[Target]:
    """The targets and those whose checks they share."""
    found = {target.name: target for target in targets}
    for target in list(found.values()):
        if target.service and target.route is not None:
            name = service_section(target.service, target.version)
            own = Target(name=name, service=target.service, version=target.version)
            found.setdefault(name, own)
    return [found[name] for name in sorted(found)]


def _global(options: HaproxyOptions) -> Iterator[str]:
    yield "global"
    yield "expose-experimental-directives"
    yield "default-path config"
    yield f"stats socket {word(options.socket)} mode 600 level admin expose-fd listeners"
    yield "hard-stop-after 60s"
    yield f"tune.pattern.cache-size {options.pattern_cache}"
    yield f"tune.runqueue-depth {RUN_QUEUE}"
    yield f"tune.maxpollevents {POLLED}"


def _defaults() -> Iterator[str]:
    yield "defaults"
    yield "mode http"
    yield "option forwardfor"
    yield "timeout client 60s"
    yield "timeout http-request 10s"
    yield "timeout connect 5s"
    yield "timeout server 60s"


def _section(lines: Iterator[str]) -> Iterator[str]:
    yield ""
    yield next(lines)
    yield from (f"    {line}" for line in lines)


def _reaches(snapshot: Snapshot, group: GatewayGroup) -> dict[str, Reach]:
    region = group.region or EVERYWHERE
    weights = {
        (one.service, one.source_region): one.weights
        for one in snapshot.content.weights.weights
        if one.version == EVERY_VERSION
    }
    by_source = source_limits(snapshot.content.admission.policies)
    return {
        service.service: Reach(
            service=service,
            by_source=by_source.get(service.service),
            weights=weights.get(
                (service.service, region), weights.get((service.service, EVERYWHERE), {})
            ),
        )
        for service in snapshot.content.endpoints.services
    }


def _hosts(table: Table) -> Iterator[str]:
    for host, number in sorted(table.hosts.items()):
        if not host.startswith(EVERY_HOST):
            yield f"{host} t{number}"


def _suffixes(table: Table) -> Iterator[str]:
    """`*.example` as `.example`; the first that fits is taken, so the longest come first."""
    suffixes = [host for host in table.hosts if host.startswith("*.")]
    for host in sorted(suffixes, key=lambda h: (-len(h), h)):
        yield f"{host[1:]} t{table.hosts[host]}"


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
