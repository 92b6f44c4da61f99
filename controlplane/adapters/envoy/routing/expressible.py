"""Which routes an Envoy can have, in a form that it can express; each other one is told.

Called by `configuration`. Nothing is dropped silently: what cannot be compiled is an observation on
its route that says what happens instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controlplane.adapters.envoy.routing.conditions import inexpressible
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.placement import versions
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.matching.functions import Registry, lowered
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.precedence import order
from controlplane.domain.routing.route import FixedResponse, PathMatchType, Route
from controlplane.domain.snapshot import ServiceEndpoints

Services = Mapping[str, ServiceEndpoints]
# What requests get of a route that does what Envoy cannot do.
CANNOT = FixedResponse(status=501, body="this gateway cannot do what the route says\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A route that Envoy can express.

    Attributes:
        order: place among the routes of a host, as it was declared.
        route: without functions, and with a cohort only where somebody is outside of it.
    """

    order: tuple[object, ...]
    route: Route

    @property
    def certain(self) -> bool:
        """Whether it takes every request with its path."""
        return not (self.route.methods or self.route.condition_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """The rules that are compiled, and what is to be said about the others."""

    rules: tuple[Rule, ...]
    notes: tuple[Observation, ...]


def judged(routes: Iterable[Route], services: Services, registry: Registry = PROVIDED) -> Judgment:
    """Each route as a rule, or what is wrong with it."""
    rules: list[Rule] = []
    notes: list[Observation] = []
    for route in routes:
        plain = lowered(route, registry) if route.functions else route
        fault = _fault(route, plain, services)
        if plain is None or fault is not None:
            notes += [fault] if fault is not None else []
            continue
        if plain.cohort is not None and cohorts.everyone(plain.cohort):
            plain = replace(plain, cohort=None)
        plain, unknown = _with_known_versions(plain, services)
        plain, refused = _refusing(plain)
        notes += unknown + refused
        # An empty cohort is nobody, and no expression says so.
        if plain.cohort is None or cohorts.expression(plain.cohort):
            rules.append(Rule(order=order(route), route=plain))
    return Judgment(rules=tuple(rules), notes=tuple(notes))


def _fault(route: Route, plain: Route | None, services: Services) -> Observation | None:
    if route.service and route.service not in services:
        return Observation(
            code="route_without_service",
            subject=_subject(route),
            message=f"route {route.id} names service {route.service}, which is not in the "
            "snapshot: declare the service, or name another",
            held="the route is left out",
        )
    if plain is None:
        names = ", ".join(call.name for call in route.functions)
        why = f"a match function ({names}) that is no plain condition: use conditions"
        return _left_out(route, why)
    why = next((why for c in plain.conditions if (why := inexpressible(c))), "")
    return _left_out(route, why) if why else None


def _left_out(route: Route, why: str) -> Observation:
    refuses = route.response is not None and not route.service
    return Observation(
        code="route_not_expressible",
        subject=_subject(route),
        message=f"Envoy cannot express route {route.id}: {why}",
        held="the route is left out on Envoy; its requests get what they would get without it",
        # What it should have refused passes.
        severity=Severity.CRITICAL if refuses else Severity.WARNING,
    )


def _with_known_versions(route: Route, services: Services) -> tuple[Route, list[Observation]]:
    if not route.versions:
        return route, []
    known = set(versions(services[route.service]))
    kept = tuple(one for one in route.versions if one.version in known)
    unknown = [one.version for one in route.versions if one.version not in known]
    if not unknown:
        return route, []
    takes = "its other versions take their part" if kept else "the whole service takes its part"
    note = Observation(
        code="route_version_unknown",
        subject=_subject(route),
        message=f"route {route.id} names version {', '.join(unknown)} of service {route.service}, "
        "which no endpoint has: give endpoints that version, or name another",
        held=takes,
    )
    return replace(route, versions=kept), [note]


def _refusing(route: Route) -> tuple[Route, list[Observation]]:
    """A route that does what Envoy cannot do stays and refuses, so that nobody gets in by another
    route."""
    why = _cannot_do(route)
    if not why:
        return route, []
    refusing = replace(route, service="", versions=(), queue=None, redirect=None, response=CANNOT)
    note = Observation(
        code="route_action_refused",
        subject=_subject(route),
        message=f"route {route.id}: Envoy cannot do {why}",
        held=f"its requests get {CANNOT.status} on Envoy",
    )
    return refusing, [note]


def _cannot_do(route: Route) -> str:
    if route.transform:
        return f"the body transformation {route.transform}: let the service do it"
    rewrite = route.rewrite
    if rewrite is not None and rewrite.prefix and route.path.type is not PathMatchType.PATH_PREFIX:
        return f"a new prefix for a path of type {route.path.type}: rewrite the whole path"
    return ""


def _subject(route: Route) -> str:
    # A whitelist is a route whose id says so.
    return route.id if route.id.startswith("whitelist/") else f"route/{route.id}"
