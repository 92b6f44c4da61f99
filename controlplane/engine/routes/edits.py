"""Changes of the fleet that take a route through its life; pure functions of the fleet in force.

Called by `life`, which says who asks and when. Each raises Conflict when the route's life
does not allow it, and NotFound when there is no such route.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from controlplane.domain.errors import Conflict, Invalid, NotFound
from controlplane.domain.routing.life.release import (
    Gray,
    GrayBy,
    Life,
    LifeEvent,
    Release,
    after,
)
from controlplane.domain.routing.route import WHOLE, Route
from controlplane.domain.topology import Fleet

Change = Callable[[Fleet], Fleet]
MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteItem:
    """A route with both of its forms: the published one, and the one that is on its way."""

    id: str
    life: Life
    published: Route | None = None
    release: Release | None = None

    def mentions(self, text: str) -> bool:
        """Whether a text stands in the id, a host, the path or the service of one of its forms."""
        forms = [self.published, None if self.release is None else self.release.route]
        words = [self.id]
        for form in filter(None, forms):
            words += (*form.hosts, form.path.value, form.service)
        return any(text.lower() in word.lower() for word in words)


def item(fleet: Fleet, route_id: str) -> RouteItem:
    """One route; `NEW` when there is none."""
    published = next((one for one in fleet.routes if one.id == route_id), None)
    release = next((one for one in fleet.releases if one.route.id == route_id), None)
    return _item(route_id, published, release)


def existing(fleet: Fleet, route_id: str) -> RouteItem:
    """One route; NotFound when there is none."""
    found = item(fleet, route_id)
    if found.life is Life.NEW:
        raise NotFound(
            "route_not_found", f"there is no route {route_id}: see signalbox routes list"
        )
    return found


def items(fleet: Fleet) -> list[RouteItem]:
    """Every route, by id."""
    published = {one.id: one for one in fleet.routes}
    releases = {one.route.id: one for one in fleet.releases}
    ids = sorted({*published, *releases})
    return [_item(one, published.get(one), releases.get(one)) for one in ids]


def _item(route_id: str, published: Route | None, release: Release | None) -> RouteItem:
    life = Life.NEW if published is None else Life.FULL
    if release is not None:
        life = release.life
    return RouteItem(id=route_id, life=life, published=published, release=release)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Who changes a route, and when (UTC epoch seconds)."""

    author: str
    now_s: float

    def write(self, route: Route) -> Change:
        """A draft, over an earlier one; what is published stays. The same again is nothing new."""

        def change(fleet: Fleet) -> Fleet:
            found = _passed(fleet, route.id, LifeEvent.WRITE)
            newest = found.published if found.release is None else found.release.route
            if newest == route and found.life is not Life.RETIRED:
                return fleet
            return _with_release(fleet, self._release(route, Life.DRAFT))

        return change

    def discard(self, route_id: str) -> Change:
        """Without the draft, or without what is left of a retired one."""

        def change(fleet: Fleet) -> Fleet:
            _passed(fleet, route_id, LifeEvent.DISCARD)
            return _without_release(fleet, route_id)

        return change

    def publish(self, route_id: str) -> Change:
        """The draft, gray or retired route for all traffic."""

        def change(fleet: Fleet) -> Fleet:
            found = _passed(fleet, route_id, LifeEvent.PUBLISH)
            return _published(fleet, _candidate(found))

        return change

    def rollback(self, route: Route) -> Change:
        """An earlier form for all traffic."""

        def change(fleet: Fleet) -> Fleet:
            _passed(fleet, route.id, LifeEvent.ROLLBACK)
            return _published(fleet, route)

        return change

    def retire(self, route_id: str) -> Change:
        """No traffic any more; its last form stays to be read and published again."""

        def change(fleet: Fleet) -> Fleet:
            found = _passed(fleet, route_id, LifeEvent.RETIRE)
            last = found.published or _candidate(found)
            routes = tuple(one for one in fleet.routes if one.id != route_id)
            release = self._release(last, Life.RETIRED)
            return _with_release(replace(fleet, routes=routes), release)

        return change

    def gray(self, route_id: str, gray: Gray) -> Change:
        """The draft for a part of the traffic."""

        def change(fleet: Fleet) -> Fleet:
            route = _candidate(_passed(fleet, route_id, LifeEvent.GRAY))
            _check_references(fleet, route)
            check_gray(fleet, route, gray)
            return _with_release(fleet, replace(self._release(route, Life.GRAY), gray=gray))

        return change

    def step(self, route_id: str, index: int | None = None) -> Change:
        """The next step of a gray release, or a given one; after the last one it is full."""

        def change(fleet: Fleet) -> Fleet:
            release = _passed(fleet, route_id, LifeEvent.STEP).release
            if release is None or release.gray is None:
                raise AssertionError("a gray route has a release")
            wanted = release.step + 1 if index is None else index
            if wanted == len(release.gray.steps):
                return self.publish(route_id)(fleet)
            if not 0 <= wanted < len(release.gray.steps):
                raise Invalid(
                    "gray_step_unknown",
                    f"route {route_id} has steps 0 to {len(release.gray.steps) - 1}, not {wanted}",
                )
            moved = replace(release, step=wanted, since_s=self.now_s)
            return _with_release(fleet, moved)

        return change

    def stop(self, route_id: str) -> Change:
        """All traffic to the old route again; the new one is a draft."""

        def change(fleet: Fleet) -> Fleet:
            route = _candidate(_passed(fleet, route_id, LifeEvent.STOP))
            return _with_release(fleet, self._release(route, Life.DRAFT))

        return change

    def _release(self, route: Route, life: Life) -> Release:
        return Release(
            route=route,
            life=life,
            author=self.author,
            changed_s=self.now_s,
            since_s=self.now_s,
        )


def check_gray(fleet: Fleet, route: Route, gray: Gray) -> None:
    """Raise Invalid when a gray release cannot go that way."""
    for problem in _problems(fleet, route, gray):
        raise Invalid("gray_invalid", f"the gray release of route {route.id} {problem}")


def _problems(fleet: Fleet, route: Route, gray: Gray) -> list[str]:
    steps = gray.steps
    found = []
    if not 1 <= len(steps) <= MOST_STEPS:
        found.append(f"has {len(steps)} steps; give 1 to {MOST_STEPS}")
    shares = [step.share for step in steps]
    by_share = gray.by in (GrayBy.REQUEST, GrayBy.USER)
    if by_share and not all(a < b for a, b in zip([0, *shares], [*shares, WHOLE + 1], strict=True)):
        found.append("has shares that do not grow within 0.0001 to 1")
    if by_share and route.cohort is not None:
        found.append("goes by a share, and the route has a cohort of its own; go by gateways")
    if (gray.by is GrayBy.HEADER) != (gray.header is not None):
        found.append("names a header exactly when it goes by header")
    groups = {group.name for group in fleet.gateways}
    earlier: set[str] = set()
    for step in steps if gray.by is GrayBy.GATEWAYS else ():
        if unknown := sorted(set(step.gateways) - groups):
            found.append(f"names the gateway group {unknown[0]}, which is not declared")
        if not earlier < set(step.gateways):
            found.append("has a step that does not add a gateway group to those before it")
        earlier = set(step.gateways)
    return found


def _passed(fleet: Fleet, route_id: str, event: LifeEvent) -> RouteItem:
    makes = event in (LifeEvent.WRITE, LifeEvent.ROLLBACK)
    found = item(fleet, route_id) if makes else existing(fleet, route_id)
    after(route_id, found.life, event)
    return found


def _candidate(found: RouteItem) -> Route:
    if found.release is None:
        raise AssertionError("only a published route has no release")
    return found.release.route


def _published(fleet: Fleet, route: Route) -> Fleet:
    _check_references(fleet, route)
    others = tuple(one for one in fleet.routes if one.id != route.id)
    _check_own_requests(others, route)
    return _without_release(replace(fleet, routes=(*others, route)), route.id)


def _check_references(fleet: Fleet, route: Route) -> None:
    """A draft may be older than the services and groups that it names."""
    services = {service.name for service in fleet.services}
    groups = {group.name for group in fleet.gateways}
    missing = [f"service {route.service}"] if route.service not in {"", *services} else []
    missing += [f"gateway group {name}" for name in route.gateways if name not in groups]
    if missing:
        raise Conflict(
            "route_reference_missing",
            f"route {route.id} names {missing[0]}, which is not declared: declare it, or write the "
            "route anew",
            {"missing": missing},
        )


def _check_own_requests(others: Iterable[Route], route: Route) -> None:
    """A file with two routes for exactly the same requests could not be read."""
    for other in others:
        same_host = set(other.hosts).intersection(route.hosts)
        if same_host and (other.path, other.rules) == (route.path, route.rules):
            raise Conflict(
                "route_duplicate",
                f"route {route.id} is for exactly the requests of route {other.id} on host "
                f"{sorted(same_host)[0]}: change route {other.id}, or give one of them another "
                "condition or priority",
                {"route": other.id},
            )


def check_references(fleet: Fleet) -> Fleet:
    """The fleet itself; Conflict when a route names what is not declared."""
    for route in fleet.routes:
        _check_references(fleet, route)
    return fleet


def _with_release(fleet: Fleet, release: Release) -> Fleet:
    without = _without_release(fleet, release.route.id)
    return replace(without, releases=(*without.releases, release))


def _without_release(fleet: Fleet, route_id: str) -> Fleet:
    kept = tuple(one for one in fleet.releases if one.route.id != route_id)
    return replace(fleet, releases=kept)
