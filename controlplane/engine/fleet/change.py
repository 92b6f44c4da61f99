"""One change of the fleet, judged before it is stored: what differs, which checks it fails.

Pure; called by `fleets` in a thread, because tables of ten thousand routes take a second.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from controlplane.domain import canonical
from controlplane.domain.access import Principal
from controlplane.domain.admission.flash_sale.life import Correction
from controlplane.domain.findings import Observation
from controlplane.domain.fleet_order import normalized, ordered
from controlplane.domain.fleet_policies import frozen
from controlplane.domain.fleet_policies import invalid as invalid_policies
from controlplane.domain.routing.life.checks import CheckResult, HeldChange, checked
from controlplane.domain.routing.life.release import Life, LifeEvent, Release
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.whitelist import refusal
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.difference import ChangeLine, difference

ROUTE, RELEASE = "route/", "release/"
FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Who asks for a change of one item, why, and on top of which generation."""

    author: Principal
    reason: str = ""
    expected_generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a few items that somebody asked for by name.

    Attributes:
        change: the fleet in force -> the wanted one; may raise.
        event: of the audit log and of revisions.
    """

    change: Callable[[Fleet], Fleet]
    author: Principal
    event: str
    subject: str
    reason: str = ""
    expected_generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPolicy:
    """A change of one policy that is not made: it could not be carried out, or a sale is frozen."""

    policy: str
    reason: str
    code: str = "policy_invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A wanted fleet after its checks, in canonical order, and what it changes.

    Attributes:
        held: changes of routes that are not in it, because a check would fail.
        failing: checks that fail although this change is not at fault.
        invalid: changes of policies that are not in it.
    """

    fleet: Fleet
    lines: tuple[ChangeLine, ...]
    held: tuple[HeldChange, ...] = ()
    failing: tuple[CheckResult, ...] = ()
    invalid: tuple[HeldPolicy, ...] = ()


def judged(
    current: Fleet, wanted: Fleet, now_s: float, corrections: tuple[Correction, ...] = ()
) -> Judged:
    """Run the checks of a wanted fleet against the one in force.

    Args:
        corrections: changes of frozen sales that were reviewed.
    """
    wanted = normalized(wanted)
    kept = frozen((current, wanted), now_s, corrections)
    wanted, invalid = _carried_out(current, wanted, kept)
    # A draft changes no answer, and tables of thousands of routes take their time.
    same = current.routes == wanted.routes and current.whitelists == wanted.whitelists
    if same or not any(route.checks for fleet in (current, wanted) for route in fleet.routes):
        return Judged(fleet=wanted, lines=difference(current, wanted), invalid=invalid)
    result = checked(_table(current), _table(wanted), now_s)
    if result.held:
        wanted = _with_earlier(current, wanted, {one.route for one in result.held})
    return Judged(
        fleet=wanted,
        lines=difference(current, wanted),
        held=result.held,
        failing=result.failing,
        invalid=invalid,
    )


def _carried_out(
    current: Fleet, wanted: Fleet, kept: Mapping[str, str]
) -> tuple[Fleet, tuple[HeldPolicy, ...]]:
    """The wanted fleet with the policies that cannot be carried out as they are in force."""
    reasons = {**invalid_policies(wanted.policies), **kept}
    if not reasons:
        return wanted, ()
    policies = [one for one in wanted.policies if one.name not in reasons]
    policies += [one for one in current.policies if one.name in reasons]
    held = tuple(
        HeldPolicy(
            policy=name, reason=why, code="sale_frozen" if name in kept else "policy_invalid"
        )
        for name, why in sorted(reasons.items())
    )
    return normalized(replace(wanted, policies=tuple(policies))), held


def _table(fleet: Fleet) -> Mapping[str, Route]:
    refusals = (refusal(whitelist) for whitelist in fleet.whitelists)
    return {route.id: route for route in (*fleet.routes, *refusals)}


def _with_earlier(current: Fleet, wanted: Fleet, held: set[str]) -> Fleet:
    """The wanted fleet with what is held as it is in force."""
    routes = [r for r in wanted.routes if r.id not in held]
    routes += [r for r in current.routes if r.id in held]
    lists = [w for w in wanted.whitelists if refusal(w).id not in held]
    lists += [w for w in current.whitelists if refusal(w).id in held]
    return normalized(replace(wanted, routes=tuple(routes), whitelists=tuple(lists)))


def carried(current: Fleet, document: Fleet) -> tuple[Release, ...]:
    """The releases beside a document; one that is gray over a route that changes stops.

    Its author did not see the form that the document has, and its end would undo that.
    """
    before = {route.id: route for route in current.routes}
    after = {route.id: ordered(route) for route in document.routes}
    return tuple(
        replace(release, life=Life.DRAFT, gray=None, step=0)
        if release.life is Life.GRAY and before.get(release.route.id) != after.get(release.route.id)
        else release
        for release in current.releases
    )


def observations(found: Judged) -> Iterator[Observation]:
    """What was held, and what fails, as findings."""
    for one in found.held:
        yield Observation(
            code="route_check_failed",
            subject=_subject(one.route),
            message=f"{one.reason}: correct the route or the check, and publish it again",
            held="the route as it was; the rest of the change was made",
        )
    for policy in found.invalid:
        yield Observation(
            code=policy.code,
            subject=f"policy/{policy.policy}",
            message=f"policy {policy.policy}: {policy.reason}",
            held="the policy as it was; the rest of the change was made",
        )
    for failing in found.failing:
        yield Observation(
            code="route_check_failed",
            subject=_subject(failing.route),
            message=f"{failing.fault}: correct the route or the check",
        )


def _subject(route_id: str) -> str:
    return route_id if "/" in route_id else f"{ROUTE}{route_id}"


def revisions(
    current: Fleet, found: Judged, event: str, entry: RouteRevision
) -> Iterable[RouteRevision]:
    """A revision for each route that a change publishes or takes away.

    Args:
        entry: author, reason, time and generation of all of them.
    """
    # The step after a gray release's last one.
    event = FULL if event == LifeEvent.STEP else event
    for line in found.lines:
        if line.subject.startswith(ROUTE):
            route_id = line.subject.removeprefix(ROUTE)
            yield replace(entry, route=route_id, event=event, before=line.before, after=line.after)
    yield from _gray_begun(current, found, entry)


def _gray_begun(current: Fleet, found: Judged, entry: RouteRevision) -> Iterator[RouteRevision]:
    """A gray release publishes, too: its new route, for a part of the traffic."""
    changed = {line.subject for line in found.lines if line.subject.startswith(RELEASE)}
    lives = {one.route.id: one.life for one in current.releases}
    published = {route.id: route for route in current.routes}
    for release in found.fleet.releases:
        route = release.route
        began = release.life is Life.GRAY and lives.get(route.id) is not Life.GRAY
        if f"{RELEASE}{route.id}" in changed and began:
            old = published.get(route.id)
            before = "" if old is None else canonical.encode(old).decode()
            after = canonical.encode(route).decode()
            yield replace(entry, route=route.id, event=LifeEvent.GRAY, before=before, after=after)
