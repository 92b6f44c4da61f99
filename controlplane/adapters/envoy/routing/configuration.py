"""All rules of a snapshot as RouteConfigurations, one for all gateway groups or some of their own.

Called by `render`. Groups that no route names share one table; each other has its own, with the
routes for all and those for it. Weights must never come in here: a route push refills rate limits.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from envoy.config.route.v3 import route_components_pb2, route_pb2
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from controlplane.adapters.envoy.agents import with_away, without_tickets
from controlplane.adapters.envoy.delegates import OnMatch
from controlplane.adapters.envoy.listeners import ROUTES_NAME
from controlplane.adapters.envoy.normal_form import READ_HEADER, read_first
from controlplane.adapters.envoy.rates import count_for
from controlplane.adapters.envoy.retries import retry_header, retry_policy
from controlplane.adapters.envoy.routing.actions import envoy_route, retry_of
from controlplane.adapters.envoy.routing.expressible import Rule, Services, judged
from controlplane.adapters.envoy.routing.tables import tables, unreached
from controlplane.adapters.envoy.routing.tree import matcher
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import CohortKey, Route
from controlplane.domain.routing.whitelist import refusal
from controlplane.domain.services import RetryPolicy
from controlplane.domain.snapshot import RoutesSection

# The table of every group that no route names.
EVERY_GROUP = ""
EVERY_HOST = "*"
# Bytes of a fixed answer that Envoy takes unless it is told a larger number.
USUAL_BODY = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Tables by gateway group, `EVERY_GROUP` for those without their own; notes about routes."""

    tables: Mapping[str, route_pb2.RouteConfiguration]
    notes: tuple[Observation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRoutes:
    """What policies say of routes, by id.

    Attributes:
        without_tickets: no tickets of a session queue are read there.
        away: what holds there while the agent is away, where it is not the gateway group's word.
        by_source: services, not routes, that count the requests of each address.
    """

    without_tickets: Collection[str] = ()
    away: Mapping[str, WhenAway] = field(default_factory=dict)
    by_source: Collection[str] = ()


def compiled(
    section: RoutesSection, services: Services, asked: AskedRoutes | None = None
) -> Compiled:
    """All tables of a snapshot."""
    asked = asked or AskedRoutes()
    routes = (*section.routes, *map(refusal, section.whitelists))
    judgment = judged(routes, services)
    usual = _usual_retries(judgment.rules, services)
    messages = {rule.route.id: envoy_route(rule.route, services, usual) for rule in judgment.rules}
    for unread in messages.keys() & set(asked.without_tickets):
        without_tickets(messages[unread])
    for route in messages.keys() & asked.away.keys():
        with_away(messages[route], asked.away[route])
    for rule in judgment.rules:
        if rule.route.service in asked.by_source:
            count_for(messages[rule.route.id], rule.route.service)
    return Compiled(
        tables={
            group: _configuration(
                [rule for rule in judgment.rules if _seen_by(rule.route, group)],
                [host for route in routes if _seen_by(route, group) for host in route.hosts],
                messages,
                usual,
            )
            for group in _groups(section)
        },
        notes=(*judgment.notes, *unreached(judgment.rules)),
    )


def own_tables(section: RoutesSection) -> frozenset[str]:
    """The gateway groups that have a table of their own."""
    named = {group for route in section.routes for group in route.gateways}
    return frozenset(named.intersection(group.name for group in section.gateways))


def keeps_users(section: RoutesSection) -> bool:
    """Whether a route asks for the sticky cookie, so that it must be handed out."""
    return any(
        route.versions or (route.cohort is not None and route.cohort.by is CohortKey.USER)
        for route in section.routes
    )


def _groups(section: RoutesSection) -> Iterator[str]:
    own = own_tables(section)
    if len(own) < max(1, len(section.gateways)):
        yield EVERY_GROUP
    yield from sorted(own)


def _seen_by(route: Route, group: str) -> bool:
    return not route.gateways or group in route.gateways


def _configuration(
    rules: list[Rule],
    hosts: list[str],
    messages: Mapping[str, route_components_pb2.Route],
    usual: RetryPolicy,
) -> route_pb2.RouteConfiguration:
    message = route_pb2.RouteConfiguration(
        name=ROUTES_NAME,
        # Holds outside matcher trees only.
        validate_clusters=BoolValue(value=True),
        ignore_port_in_host_matching=True,
        request_headers_to_remove=[READ_HEADER],
    )
    # What no host has gets the same answer to a path that cannot be read.
    for domains, table in tables(rules, (*hosts, EVERY_HOST)):
        host = message.virtual_hosts.add(name=domains[0], domains=domains)
        found = None
        if table:
            host.retry_policy.CopyFrom(retry_policy(usual))
            host.request_headers_to_add.append(retry_header())
            found = OnMatch(matcher=matcher(table, messages))
        host.matcher.CopyFrom(read_first(found))
    bodies = (rule.route.response.body for rule in rules if rule.route.response is not None)
    longest = max((len(body.encode()) for body in bodies), default=0)
    if longest > USUAL_BODY:
        message.max_direct_response_body_size_bytes.CopyFrom(UInt32Value(value=longest))
    return message


def _usual_retries(rules: tuple[Rule, ...], services: Services) -> RetryPolicy:
    """The most frequent retries: said once for a host, so that only routes that differ say their
    own."""
    counts = Counter(
        retry_of(rule.route, services[rule.route.service]) for rule in rules if rule.route.service
    )
    by_rank = sorted(counts, key=lambda r: (-counts[r], r.attempts, r.per_try_timeout_ms))
    return by_rank[0] if by_rank else RetryPolicy()
