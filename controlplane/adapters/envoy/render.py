"""A snapshot as Envoy resources: named parts of bytes, the same content giving the same bytes.

Called by `plane`. What did not change since the last rendering is taken from it, so a change of
weights compiles the touched assignments only.
"""

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from google.protobuf.message import Message

from controlplane.adapters.envoy import clusters, listeners
from controlplane.adapters.envoy.agents import agent_clusters
from controlplane.adapters.envoy.breakers import with_breaker
from controlplane.adapters.envoy.concurrency import adapting
from controlplane.adapters.envoy.derived_clusters import carried_only, derived
from controlplane.adapters.envoy.group_listeners import (
    Needs,
    access_notes,
    fetched,
    group_listeners,
)
from controlplane.adapters.envoy.l4_listeners import l4_notes
from controlplane.adapters.envoy.resource_sets import regional_name
from controlplane.adapters.envoy.routing.configuration import AskedRoutes, compiled, keeps_users
from controlplane.adapters.envoy.sessions import keeps_sessions, with_sessions
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.coverage import away_on, declares_away
from controlplane.domain.admission.native_tickets import checked_queue, is_all
from controlplane.domain.admission.policy import Policy
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.placement import EVERY_VERSION, versions
from controlplane.domain.policy_breakers import breakers, kept_in_part
from controlplane.domain.policy_limits import source_limits
from controlplane.domain.snapshot import Section, ServiceEndpoints, Snapshot, WeightSet
from controlplane.domain.topology import EVERYWHERE
from controlplane.domain.xds import ResourceType
from controlplane.ports.outside import Artifact

# Part names: `cluster/NAME`, `endpoint/NAME`, `route/NAME` for every group, `listener/GROUP`, and
# `endpoint/NAME@REGION` for the groups of a region, `route/NAME@GROUP` for one group, in place of
# the one without. NAME of a cluster is that of its service, with `:VERSION` for one of a version.
Part = tuple[str, bytes]
Weights = tuple[tuple[str, int], ...]
T = TypeVar("T")


class Renderer:
    """Compiles snapshots; remembers the pieces of the last one by what they were made from."""

    def __init__(self) -> None:
        self._last: dict[Hashable, object] = {}
        self._next: dict[Hashable, object] = {}
        # A courier whose deadline passed leaves its thread behind, and tries again.
        self._one_at_a_time = threading.Lock()

    def render(self, snapshot: Snapshot) -> Artifact:
        """The whole snapshot as parts in a fixed order, with notes for what was left out."""
        with self._one_at_a_time:
            return self._render(snapshot)

    def _render(self, snapshot: Snapshot) -> Artifact:
        self._next = {}
        route_parts, notes = self._routes(snapshot)
        endpoint_parts, missing = self._assignments(snapshot)
        fetched_parts, unchecked = self._fetched(snapshot)
        parts = (
            *self._clusters(snapshot),
            *self._derived(snapshot),
            *endpoint_parts,
            *self._listeners(snapshot),
            *route_parts,
            *fetched_parts,
        )
        self._last = self._next
        return Artifact(
            revision=snapshot.revision,
            version=snapshot.version,
            parts=parts,
            notes=(*notes, *missing, *unchecked, *kept_in_part(snapshot.content, "Envoy")),
            snapshot=snapshot,
        )

    def _remember(self, key: Hashable, make: Callable[[], T]) -> T:
        value = self._last[key] if key in self._last else make()
        self._next[key] = value
        return value  # type: ignore[return-value]

    def _clusters(self, snapshot: Snapshot) -> tuple[Part, ...]:
        carried = carried_only(snapshot.content.routes)
        rests = breakers(snapshot.content.admission.policies)

        def make() -> tuple[Part, ...]:
            return tuple(
                _part(ResourceType.CLUSTER, message.name, message)
                for service in snapshot.content.endpoints.services
                if service.service not in carried
                for version in _of_service(service)
                for message in (with_breaker(clusters.cluster(service, version), rests),)
            )

        limits = tuple(rests.items())
        key = ("clusters", snapshot.digests[Section.ENDPOINTS], carried, limits)
        return self._remember(key, make)

    def _derived(self, snapshot: Snapshot) -> tuple[Part, ...]:
        rests = breakers(snapshot.content.admission.policies)

        def make() -> tuple[Part, ...]:
            section = snapshot.content.routes
            own = (with_breaker(one, rests) for one in derived(section, _services(snapshot)))
            found = (*own, *agent_clusters(section.gateways))
            return tuple(_part(ResourceType.CLUSTER, message.name, message) for message in found)

        return self._remember(
            ("derived", tuple(rests.items()), *_routes_and_endpoints(snapshot)), make
        )

    def _assignments(self, snapshot: Snapshot) -> tuple[list[Part], list[Observation]]:
        regions = {group.region for group in snapshot.content.routes.gateways}
        weights = _by_region(snapshot.content.weights.weights, regions)
        parts: list[Part] = []
        notes = []
        for service in snapshot.content.endpoints.services:
            for region, given in weights.get(service.service, {EVERYWHERE: ()}).items():
                key = ("assignment", service, region, given)
                made = self._remember(key, partial(_assignments, service, region, given))
                parts += made
                if not made and region == EVERYWHERE:
                    notes.append(_nothing_to_serve(service))
        return parts, notes

    def _listeners(self, snapshot: Snapshot) -> tuple[Part, ...]:
        services = snapshot.content.endpoints.services
        sticky = any(s.load_balancing.sticky for s in services) or keeps_users(
            snapshot.content.routes
        )
        stickiness = listeners.Stickiness.COOKIE if sticky else listeners.Stickiness.NONE
        section = snapshot.content.routes
        sessions = keeps_sessions(services)
        needs = Needs(
            stickiness=stickiness,
            services=_services(snapshot),
            queue=checked_queue(snapshot.content.admission.policies),
            adapting=adapting(services),
        )

        def make() -> tuple[Part, ...]:
            return tuple(
                _part(ResourceType.LISTENER, name, with_sessions(message) if sessions else message)
                for group in section.gateways
                for name, message in group_listeners(section, group, needs)
            )

        key = ("listeners", stickiness, needs.queue, *_routes_and_endpoints(snapshot))
        return self._remember(key, make)

    def _fetched(self, snapshot: Snapshot) -> tuple[tuple[Part, ...], tuple[Observation, ...]]:
        section, services = snapshot.content.routes, snapshot.content.endpoints.services
        by_source = source_limits(snapshot.content.admission.policies)

        def make() -> tuple[tuple[Part, ...], tuple[Observation, ...]]:
            found = fetched(section, services, by_source)
            parts = (_part(kind, name, message) for kind, name, message in found)
            return tuple(parts), access_notes(section)

        limits = tuple(sorted(by_source.items()))
        return self._remember(("fetched", limits, *_routes_and_endpoints(snapshot)), make)

    def _routes(self, snapshot: Snapshot) -> tuple[tuple[Part, ...], tuple[Observation, ...]]:
        def make() -> tuple[tuple[Part, ...], tuple[Observation, ...]]:
            services = _services(snapshot)
            section = snapshot.content.routes
            found = compiled(section, services, _asked_about(snapshot))
            parts = (
                _part(ResourceType.ROUTE, regional_name(listeners.ROUTES_NAME, group), message)
                for group, message in found.tables.items()
            )
            return tuple(parts), (*found.notes, *l4_notes(section, services))

        # Policies matter to routes only where tickets are checked, addresses counted, or one says
        # what holds while the agent is away.
        policies = snapshot.content.admission.policies
        matters = checked_queue(policies) or declares_away(policies) or source_limits(policies)
        admission = snapshot.digests[Section.ADMISSION] if matters else ""
        return self._remember(("routes", admission, *_routes_and_endpoints(snapshot)), make)


def _services(snapshot: Snapshot) -> dict[str, ServiceEndpoints]:
    return {s.service: s for s in snapshot.content.endpoints.services}


def _asked_about(snapshot: Snapshot) -> AskedRoutes:
    policies = snapshot.content.admission.policies
    return AskedRoutes(
        without_tickets=_unread(snapshot),
        away=_away(policies, snapshot),
        by_source=frozenset(source_limits(policies)),
    )


def _unread(snapshot: Snapshot) -> frozenset[str]:
    """Routes that are asked about whatever ticket a request shows, where tickets are checked."""
    policies = snapshot.content.admission.policies
    queue = checked_queue(policies)
    if queue is None:
        return frozenset()
    routes = snapshot.content.routes.routes
    return frozenset(route.id for route in routes if not is_all(policies, queue, route))


def _away(policies: Sequence[Policy], snapshot: Snapshot) -> dict[str, WhenAway]:
    if not declares_away(policies):
        return {}
    found = ((route.id, away_on(policies, route)) for route in snapshot.content.routes.routes)
    return {route: said for route, said in found if said is not None}


def _routes_and_endpoints(snapshot: Snapshot) -> tuple[str, str]:
    return snapshot.digests[Section.ROUTES], snapshot.digests[Section.ENDPOINTS]


def _by_region(
    sets: Iterable[WeightSet], regions: Collection[str | None]
) -> dict[str, dict[str, Weights]]:
    """Service -> region -> weights: of every region that has gateways, and of the rest."""
    found: dict[str, dict[str, Weights]] = {}
    for one in sets:
        if one.version == EVERY_VERSION and one.source_region in (EVERYWHERE, *regions):
            given = tuple(sorted(one.weights.items()))
            found.setdefault(one.service, {})[one.source_region] = given
    return found


def _of_service(service: ServiceEndpoints) -> tuple[str, ...]:
    """What has a cluster of its own: the service, and each version that its endpoints name."""
    return (EVERY_VERSION, *versions(service))


def _assignments(service: ServiceEndpoints, region: str, weights: Weights) -> tuple[Part, ...]:
    own = "" if region == EVERYWHERE else region
    made = (clusters.assignment(service, dict(weights), one) for one in _of_service(service))
    return tuple(
        _part(ResourceType.ENDPOINT, regional_name(message.cluster_name, own), message)
        for message in made
        if message is not None
    )


def _nothing_to_serve(service: ServiceEndpoints) -> Observation:
    return Observation(
        code="assignment_without_weight",
        subject=f"service/{service.service}",
        message=f"service {service.service} has no positive weight on a data centre with "
        "endpoints: declare an endpoint there, or give another centre a share",
        held="gateways keep the endpoints and weights that they have",
        severity=Severity.CRITICAL,
    )


def _part(kind: ResourceType, name: str, message: Message) -> Part:
    return f"{kind}/{name}", message.SerializeToString(deterministic=True)
