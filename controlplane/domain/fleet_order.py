"""The canonical order of a fleet: the order of input never shows in what follows from it.

Called wherever a fleet comes in or goes out as a document.
"""

from dataclasses import replace

from controlplane.domain.admission.policy import Attachment
from controlplane.domain.routing.callers.policies import CallerPolicy, Consumer, Grant
from controlplane.domain.routing.route import Condition, HeaderChanges, Route
from controlplane.domain.services import Cluster, Service
from controlplane.domain.topology import ROLE_ORDER, Datacenter, Fleet, GatewayGroup


def normalized(fleet: Fleet) -> Fleet:
    """The same fleet in canonical order, so that the order of input never shows.

    Data centres by role, join order and name, which is the order in which idle ones join; a
    service's clusters follow that order, standbys last in their data centre; endpoints by address
    and port; the rest by name.
    """
    centers = tuple(sorted(fleet.datacenters, key=_joining))
    position = {center.name: index for index, center in enumerate(centers)}
    return Fleet(
        datacenters=centers,
        pools=tuple(sorted(fleet.pools, key=lambda p: p.name)),
        services=tuple(
            _normalized_service(service, position)
            for service in sorted(fleet.services, key=lambda s: s.name)
        ),
        gateways=tuple(map(_group, sorted(fleet.gateways, key=lambda g: g.name))),
        routes=tuple(ordered(route) for route in sorted(fleet.routes, key=lambda r: r.id)),
        whitelists=tuple(
            replace(one, hosts=tuple(sorted(one.hosts)), channel=_conditions(one.channel))
            for one in sorted(fleet.whitelists, key=lambda w: w.id)
        ),
        l4_routes=tuple(
            replace(one, sni=tuple(sorted(one.sni)), gateways=tuple(sorted(one.gateways)))
            for one in sorted(fleet.l4_routes, key=lambda r: r.id)
        ),
        callers=tuple(_policy(one) for one in sorted(fleet.callers, key=lambda c: c.name)),
        consumers=tuple(_consumer(one) for one in sorted(fleet.consumers, key=lambda c: c.name)),
        certificates=tuple(sorted(fleet.certificates, key=lambda c: c.name)),
        zones=tuple(
            replace(one, functions=tuple(sorted(one.functions)), sources=tuple(sorted(one.sources)))
            for one in sorted(fleet.zones, key=lambda z: z.name)
        ),
        policies=tuple(
            replace(policy, attachment=_attachment(policy.attachment))
            for policy in sorted(fleet.policies, key=lambda p: p.name)
        ),
        metric_sources=tuple(
            replace(source, queries=tuple(sorted(source.queries)))
            for source in sorted(fleet.metric_sources, key=lambda s: s.name)
        ),
        releases=tuple(
            replace(release, route=ordered(release.route))
            for release in sorted(fleet.releases, key=lambda r: r.route.id)
        ),
    )


def ordered(route: Route) -> Route:
    """The same route with everything in order whose order means nothing."""
    parts: dict[str, object] = {
        "hosts": tuple(sorted(route.hosts)),
        "methods": tuple(sorted(route.methods)),
        "conditions": _conditions(route.conditions),
        "sources": tuple(sorted(route.sources)),
        "functions": tuple(
            replace(call, arguments=tuple(sorted(call.arguments)))
            for call in sorted(route.functions, key=lambda f: (f.name, f.arguments))
        ),
        "gateways": tuple(sorted(route.gateways)),
        "versions": tuple(sorted(route.versions, key=lambda v: v.version)),
        "authentication": tuple(sorted(route.authentication)),
        "labels": tuple(sorted(route.labels)),
        "checks": tuple(replace(c, headers=tuple(sorted(c.headers))) for c in route.checks),
    }
    headers = {
        "request_headers": _changes(route.request_headers),
        "response_headers": _changes(route.response_headers),
    }
    # Making a route anew takes longer than all of this, and ten thousand are in order already.
    different = {
        name: value
        for name, value in (*parts.items(), *headers.items())
        if value != getattr(route, name)
    }
    return replace(route, **different) if different else route  # type: ignore[arg-type]


def _conditions(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    return tuple(sorted(conditions, key=lambda c: (c.part, c.name, c.type, c.value)))


def _changes(changes: HeaderChanges | None) -> HeaderChanges | None:
    if changes is None:
        return None
    return HeaderChanges(set=tuple(sorted(changes.set)), remove=tuple(sorted(changes.remove)))


def _group(group: GatewayGroup) -> GatewayGroup:
    if group.agent is None:
        return group
    return replace(group, agent=replace(group.agent, headers=tuple(sorted(group.agent.headers))))


def _policy(policy: CallerPolicy) -> CallerPolicy:
    if policy.jwt is None:
        return policy
    audiences, claims = sorted(policy.jwt.audiences), sorted(policy.jwt.claims)
    return replace(
        policy, jwt=replace(policy.jwt, audiences=tuple(audiences), claims=tuple(claims))
    )


def _consumer(consumer: Consumer) -> Consumer:
    return replace(
        consumer,
        credentials=tuple(sorted(consumer.credentials, key=lambda c: (c.policy, c.type, c.value))),
        grants=tuple(
            sorted(map(_grant, consumer.grants), key=lambda g: (g.routes, g.labels, g.zones))
        ),
    )


def _grant(grant: Grant) -> Grant:
    return Grant(
        routes=tuple(sorted(grant.routes)),
        labels=tuple(sorted(grant.labels)),
        zones=tuple(sorted(grant.zones)),
    )


def _attachment(attachment: Attachment) -> Attachment:
    return Attachment(
        routes=tuple(sorted(attachment.routes)),
        services=tuple(sorted(attachment.services)),
        regions=tuple(sorted(attachment.regions)),
    )


def _joining(center: Datacenter) -> tuple[int, int, str]:
    return ROLE_ORDER.index(center.role), center.join_order, center.name


def _normalized_service(service: Service, position: dict[str, int]) -> Service:
    def place(cluster: Cluster) -> tuple[int, bool, str]:
        at = position.get(cluster.datacenter, len(position))
        return at, cluster.standby, cluster.name

    return replace(
        service,
        clusters=tuple(
            replace(c, endpoints=tuple(sorted(c.endpoints, key=lambda e: (e.address, e.port))))
            for c in sorted(service.clusters, key=place)
        ),
        static_shares=tuple(sorted(service.static_shares)),
    )
