"""The route compiler: rules to one RouteConfiguration with a matcher tree per virtual host.

Called by `render`. Envoy's prefix map finds the longest key by raw prefix in time that does not
grow with the number of rules; `/api` is then also found for `/apix`. So each key's list holds
the rules that check whole segments, and behind them the rule of the nearest shorter path, which
such a request belongs to. Where there is none the regular expressions follow that could match
there; under a prefix they never match. Weights must never come in here: a route push refills rate
limits.

Envoy does not check clusters that a matcher tree names (it acknowledges and answers 503), so a
rule for a service that is not in the snapshot must not get in here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.type.matcher.v3 import http_inputs_pb2
from google.protobuf.wrappers_pb2 import BoolValue
from xds.core.v3 import extension_pb2 as xds_extension_pb2
from xds.type.matcher.v3 import matcher_pb2

from controlplane.adapters.envoy.listeners import ROUTES_NAME
from controlplane.adapters.envoy.packing import extension
from controlplane.adapters.envoy.route_actions import action, retry_idempotent, retry_unseen
from controlplane.domain.findings import Observation
from controlplane.domain.routing.expressions import literal_start, of_template
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.snapshot import ServiceEndpoints
from controlplane.domain.topology import RetryPolicy

# A request that may be sent twice without harm (RFC 9110, section 9.2.2). PUT and DELETE are left
# out, because applications often do not keep to it.
IDEMPOTENT = ("GET", "HEAD", "OPTIONS")

_Rule = tuple[route_components_pb2.RouteMatch, str]
Services = Mapping[str, ServiceEndpoints]
Retry = Callable[[RetryPolicy], route_components_pb2.RetryPolicy | None]


@dataclass(slots=True, kw_only=True)
class _Table:
    """The rules of one host by path; `prefixes` match whole segments, `expressions` are by id."""

    exacts: dict[str, Route] = field(default_factory=dict)
    prefixes: dict[str, Route] = field(default_factory=dict)
    expressions: dict[str, Route] = field(default_factory=dict)

    def of(self, kind: PathMatchType) -> dict[str, Route]:
        """The rules of one kind."""
        match kind:
            case PathMatchType.EXACT:
                return self.exacts
            case PathMatchType.PATH_PREFIX:
                return self.prefixes
            case PathMatchType.REGULAR_EXPRESSION | PathMatchType.PATH_TEMPLATE:
                return self.expressions


def configuration(
    routes: Sequence[Route], services: Services
) -> tuple[route_pb2.RouteConfiguration, tuple[Observation, ...]]:
    """All rules as one RouteConfiguration; notes name the rules that were left out and why."""
    tables, notes = _tables(routes, services)
    by_rules: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for host in sorted(tables):
        by_rules.setdefault(_fingerprint(tables[host]), []).append(host)
    hosts = [_virtual_host(domains, tables[domains[0]], services) for domains in by_rules.values()]
    message = route_pb2.RouteConfiguration(
        name=ROUTES_NAME,
        virtual_hosts=hosts,
        # Holds outside matcher trees only.
        validate_clusters=BoolValue(value=True),
        ignore_port_in_host_matching=True,
    )
    return message, tuple(notes)


def _tables(
    routes: Iterable[Route], services: Services
) -> tuple[dict[str, _Table], list[Observation]]:
    tables: dict[str, _Table] = {}
    notes = []
    for route in sorted(routes, key=lambda r: r.id):
        if route.service not in services:
            notes.append(_unknown_service(route))
            continue
        for host in sorted({host.lower() for host in route.hosts}):
            rules = tables.setdefault(host, _Table()).of(route.path.type)
            first = rules.setdefault(_value(route.path), route)
            if first is not route:
                notes.append(_shadowed(route, first, host))
    return tables, notes


def _value(path: PathMatch) -> str:
    return of_template(path.value) if path.type is PathMatchType.PATH_TEMPLATE else path.value


def _unknown_service(route: Route) -> Observation:
    return Observation(
        code="route_without_service",
        subject=f"route/{route.id}",
        message=f"route {route.id} names service {route.service}, which is not in the snapshot: "
        "declare the service, or name another",
        held="the route is left out",
    )


def _shadowed(route: Route, first: Route, host: str) -> Observation:
    return Observation(
        code="route_shadowed",
        subject=f"route/{route.id}",
        message=f"route {route.id} has host {host} and {route.path.type} {route.path.value} like "
        f"route {first.id}, which comes first by id: change or remove one of them",
        held=f"the route is left out for host {host}",
    )


def _fingerprint(table: _Table) -> tuple[tuple[str, str, str], ...]:
    rules = [("exact", path, route.service) for path, route in table.exacts.items()]
    rules += [("prefix", path, route.service) for path, route in table.prefixes.items()]
    # These are tried one after another, so their order is part of what they mean.
    expressions = [("regex", path, route.service) for path, route in table.expressions.items()]
    return (*sorted(rules), *expressions)


def _virtual_host(
    domains: list[str], table: _Table, services: Services
) -> route_components_pb2.VirtualHost:
    rules = [*table.exacts.values(), *table.prefixes.values(), *table.expressions.values()]
    counts = Counter(services[rule.service].retry for rule in rules)
    # Said once for the host; only routes that differ say their own. With 808 rules this halves
    # the push.
    usual = min(counts, key=lambda r: (-counts[r], r.attempts, r.per_try_timeout_ms))
    return route_components_pb2.VirtualHost(
        name=domains[0],
        domains=domains,
        retry_policy=retry_idempotent(usual),
        matcher=_by_method(table, services, usual),
    )


def _by_method(table: _Table, services: Services, usual: RetryPolicy) -> matcher_pb2.Matcher:
    def idempotent(retry: RetryPolicy) -> route_components_pb2.RetryPolicy | None:
        return None if retry == usual else retry_idempotent(retry)

    is_idempotent = matcher_pb2.Matcher.MatcherList.Predicate(
        or_matcher=matcher_pb2.Matcher.MatcherList.Predicate.PredicateList(
            predicate=[_method_is(method) for method in IDEMPOTENT]
        )
    )
    first = matcher_pb2.Matcher.MatcherList.FieldMatcher(
        predicate=is_idempotent,
        on_match=matcher_pb2.Matcher.OnMatch(matcher=_tree(table, services, idempotent)),
    )
    return matcher_pb2.Matcher(
        matcher_list=matcher_pb2.Matcher.MatcherList(matchers=[first]),
        on_no_match=matcher_pb2.Matcher.OnMatch(matcher=_tree(table, services, retry_unseen)),
    )


def _method_is(method: str) -> matcher_pb2.Matcher.MatcherList.Predicate:
    single = matcher_pb2.Matcher.MatcherList.Predicate.SinglePredicate(input=_header(":method"))
    single.value_match.exact = method
    return matcher_pb2.Matcher.MatcherList.Predicate(single_predicate=single)


def _tree(table: _Table, services: Services, retry: Retry) -> matcher_pb2.Matcher:
    def listed(rules: list[_Rule]) -> xds_extension_pb2.TypedExtensionConfig:
        found = [
            action(services[service], match, retry(services[service].retry))
            for match, service in rules
        ]
        return extension("route", route_components_pb2.RouteList(routes=found))

    expressions = _expressions(table)
    others = [rule for _, rule in expressions]
    # Where no path matches, and where none stands.
    last = matcher_pb2.Matcher.OnMatch(action=listed(others)) if others else None
    keys = sorted({*table.exacts, *table.prefixes})
    if not keys and last is not None:
        return matcher_pb2.Matcher(on_no_match=last)
    tree = matcher_pb2.Matcher.MatcherTree(input=_header(":path"))
    for key in keys:
        on_match = tree.prefix_match_map.map[key]
        on_match.action.CopyFrom(listed(_rules_at(table, key, expressions)))
    return matcher_pb2.Matcher(matcher_tree=tree, on_no_match=last)


def _expressions(table: _Table) -> list[tuple[str, _Rule]]:
    """The regular expressions, each with the text that its paths begin with."""
    found = []
    for value, route in table.expressions.items():
        match = route_components_pb2.RouteMatch()
        match.safe_regex.regex = value
        found.append((literal_start(value), (match, route.service)))
    return found


def _rules_at(table: _Table, key: str, expressions: list[tuple[str, _Rule]]) -> list[_Rule]:
    """The rules that may match a request whose longest key is this one, best first."""
    rules: list[_Rule] = []
    if key in table.exacts:
        rules.append((route_components_pb2.RouteMatch(path=key), table.exacts[key].service))
    for path in (key, *_shorter(key)):
        if path in table.prefixes:
            rules.append((_prefix(path), table.prefixes[path].service))
            # What is a path above this key holds for everything under it.
            if path != key or path == "/":
                return rules
    rules += [rule for start, rule in expressions if start.startswith(key) or key.startswith(start)]
    return rules


def _shorter(path: str) -> list[str]:
    """The paths above, by whole segments, longest first: `/a/b/c` gives `/a/b`, `/a`, `/`."""
    if path == "/":
        return []
    segments = path.split("/")[1:-1]
    above = ["/" + "/".join(segments[:count]) for count in range(len(segments), 0, -1)]
    return [*above, "/"]


def _prefix(path: str) -> route_components_pb2.RouteMatch:
    if path == "/":
        return route_components_pb2.RouteMatch(prefix="/")
    return route_components_pb2.RouteMatch(path_separated_prefix=path)


def _header(name: str) -> xds_extension_pb2.TypedExtensionConfig:
    return extension(name, http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=name))
