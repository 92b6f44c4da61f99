"""Limits of services over a snapshot's content: presets, and the admission of a failover's plan.

Called by `overlay` last. A limit is one of the service as a whole; a block answers on its routes.
Of several limits of one service the strictest counts. What a data plane cannot express it tells
itself.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Preset, PresetName
from controlplane.domain.policy_limits import stricter
from controlplane.domain.routing.route import FixedResponse, Route
from controlplane.domain.snapshot import Content, EndpointsSection, ServiceLimit

# A block answers, and a waiting room counts sessions: a policy of its own.
_NO_LIMITS = frozenset({PresetName.BLOCK, PresetName.WAITING_ROOM})
BLOCKED = "This service is closed for the moment. Please try again later.\n"


def limited(
    content: Content,
    standing: Sequence[Intent],
    portions: Mapping[str, float],
    closed: Collection[str],
) -> Content:
    """The content with the limits of standing intents.

    Args:
        portions: service -> part of its traffic that survivors bear now, 0..1; who is left out
            has no data centre that is left.
        closed: services that nobody can serve; their callers are told so.
    """
    presets = _presets(standing, portions)
    blocks = {
        service: next(one.status for one in found if one.name is PresetName.BLOCK)
        for service, found in presets.items()
        if any(one.name is PresetName.BLOCK for one in found)
    }
    blocks |= {service: 503 for service in closed if service not in blocks}
    limits = {service: _strictest(found) for service, found in presets.items()}
    content = _with_limits(content, {s: one for s, one in limits.items() if one is not None})
    return _with_blocks(content, blocks)


def _presets(standing: Iterable[Intent], portions: Mapping[str, float]) -> dict[str, list[Preset]]:
    """Service -> its limits, those of later intents first."""
    found: dict[str, list[Preset]] = {}
    for intent in sorted(standing, key=lambda one: one.number, reverse=True):
        active = intent.state is IntentState.ACTIVE
        if intent.kind is IntentKind.PRESET and active and intent.wanted.preset is not None:
            found.setdefault(intent.target.service, []).append(intent.wanted.preset)
        # Room is made before the load moves, and given back as the load goes back.
        preparing = intent.state is IntentState.PREPARING
        for one in intent.limits:
            portion = 1.0 if preparing else portions.get(one.service, 1.0)
            if portion > one.part:
                found.setdefault(one.service, []).append(_for_portion(one.preset, portion))
    return found


def _for_portion(preset: Preset, portion: float) -> Preset:
    """A limit of the survivors as one of the whole service: the rest goes past them."""
    if preset.concurrent is None or preset.waiting is None:
        return preset
    return replace(
        preset,
        concurrent=int(preset.concurrent / portion),
        waiting=int(preset.waiting / portion),
    )


def _strictest(presets: Iterable[Preset]) -> ServiceLimit | None:
    given = [one for one in presets if one.name not in _NO_LIMITS]
    concurrent = [one.concurrent for one in given if one.concurrent is not None]
    waiting = [one.waiting for one in given if one.waiting is not None]
    rates = [one.rate_rps for one in given if one.rate_rps is not None]
    if not (concurrent or rates):
        return None
    return ServiceLimit(
        concurrent=min(concurrent, default=None),
        waiting=min(waiting, default=0),
        rate_rps=min(rates, default=None),
    )


def _with_limits(content: Content, limits: Mapping[str, ServiceLimit]) -> Content:
    if not limits:
        return content
    services = tuple(
        replace(one, limit=stricter(one.limit, limits[one.service]))
        if one.service in limits
        else one
        for one in content.endpoints.services
    )
    return replace(content, endpoints=EndpointsSection(services=services))


def _with_blocks(content: Content, blocks: Mapping[str, int]) -> Content:
    if not blocks:
        return content
    routes = tuple(
        _blocked(route, blocks[route.service]) if route.service in blocks else route
        for route in content.routes.routes
    )
    return replace(content, routes=replace(content.routes, routes=routes))


def _blocked(route: Route, status: int) -> Route:
    """The route with an answer in place of its service; what only a service needs goes with it."""
    return replace(
        route,
        service="",
        versions=(),
        queue=None,
        rewrite=None,
        timeout_ms=None,
        retries=None,
        transform="",
        response=FixedResponse(status=status, body=BLOCKED),
    )
