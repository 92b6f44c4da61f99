"""The routes that are in force at a time: those that are valid, and gray ones beside the old ones.

Called by `engine.reconciling.desired` at each tick, so a route vanishes with the tick at its end;
the time of the next such change is `next_change`. Pure: told the time.

A gray release is the new route for a part of the requests in front of the old one for all. What
only the old one matches stays with it until the release is full.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from controlplane.domain.routing.life.release import GrayBy, GrayStep, Life, Release
from controlplane.domain.routing.precedence import order_at_one_path, pattern
from controlplane.domain.routing.route import Cohort, CohortKey, Route


def in_force(
    routes: Iterable[Route], releases: Iterable[Release], groups: Collection[str], now_s: float
) -> tuple[Route, ...]:
    """Routes of a snapshot, by id.

    Args:
        groups: every declared gateway group.
    """
    gray = {one.route.id: one for one in releases if one.life is Life.GRAY}
    found: list[Route] = []
    for route in routes:
        release = gray.pop(route.id, None)
        found += (route,) if release is None else beside(release, route, groups)
    for release in gray.values():
        found += beside(release, None, groups)
    return tuple(sorted((one for one in found if one.valid(now_s)), key=lambda r: r.id))


def next_change(routes: Iterable[Route], releases: Iterable[Release], now_s: float) -> float | None:
    """When a route begins or ends to be valid next, after `now_s`; None is never."""
    gray = (one.route for one in releases if one.life is Life.GRAY)
    times = (
        time_s
        for route in (*routes, *gray)
        for time_s in (route.valid_from_s, route.valid_until_s)
        if time_s is not None and time_s > now_s
    )
    return min(times, default=None)


def gray_id(route_id: str) -> str:
    """Id of the new route while its release is gray; a declared id has no `/`."""
    return f"gray/{route_id}"


def beside(release: Release, old: Route | None, groups: Collection[str]) -> Iterator[Route]:
    """The routes of a gray release at its step."""
    if release.gray is None:
        return
    step = release.gray.steps[release.step]
    if release.gray.by is GrayBy.GATEWAYS:
        yield from _by_gateways(release.route, old, step, groups)
        return
    new = _part(release, step)
    yield new
    if old is not None:
        both = _of_both(new, old)
        yield from () if both is None else (both,)
        yield old


def _part(release: Release, step: GrayStep) -> Route:
    route = replace(release.route, id=gray_id(release.route.id))
    gray = release.gray
    if gray is not None and gray.header is not None:
        return replace(route, conditions=(*route.conditions, gray.header))
    by_user = gray is not None and gray.by is GrayBy.USER
    by = CohortKey.USER if by_user else CohortKey.REQUEST
    return replace(route, cohort=Cohort(by=by, low=0, high=step.share))


def _by_gateways(
    new: Route, old: Route | None, step: GrayStep, groups: Collection[str]
) -> Iterator[Route]:
    """The new route on some groups, the old one on the others."""
    mine = set(step.gateways).intersection(new.gateways or groups)
    if mine:
        yield replace(new, id=gray_id(new.id), gateways=tuple(sorted(mine)))
    if old is not None:
        others = set(old.gateways or groups) - set(step.gateways)
        if others:
            yield replace(old, gateways=tuple(sorted(others)))


def _of_both(new: Route, old: Route) -> Route | None:
    """What both match, as a route of its own, where the old one would come before the new one.

    None where that is not so, or where it cannot be said as one route.
    """
    same_place = pattern(new.path) == pattern(old.path) and (
        pattern(new.path) is not None or new.path == old.path
    )
    hosts = tuple(host for host in new.hosts if host in old.hosts)
    before = order_at_one_path(old) < order_at_one_path(new)
    if not (same_place and hosts and before):
        return None
    methods = tuple(m for m in new.methods if m in old.methods) if old.methods else new.methods
    if old.methods and not new.methods:
        methods = old.methods
    groups = _common(new.gateways, old.gateways)
    apart = (bool(new.methods and old.methods) and not methods) or groups is None
    unsayable = old.cohort is not None or (old.sources and new.sources not in ((), old.sources))
    if apart or unsayable:
        return None
    return replace(
        new,
        id=f"{new.id}/both",
        hosts=hosts,
        methods=methods,
        conditions=tuple(dict.fromkeys((*new.conditions, *old.conditions))),
        sources=new.sources or old.sources,
        functions=tuple(dict.fromkeys((*new.functions, *old.functions))),
        gateways=groups or (),
        priority=max(new.priority, old.priority),
    )


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Groups that are in both, () being all; None is none."""
    if not one or not other:
        return one or other
    return tuple(group for group in one if group in other) or None
