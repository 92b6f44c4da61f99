"""The life of routes: drafts, publications, gray releases, rollbacks, and what time changes.

Called by the API; its task lets routes begin and end on time and takes gray releases from step to
step while their gates are open. What is declared changes through `fleets` alone.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.routing.conflicts import Conflict as RouteConflict
from controlplane.domain.routing.conflicts import conflicts
from controlplane.domain.routing.life.gates import Verdict
from controlplane.domain.routing.life.in_force import next_change
from controlplane.domain.routing.life.release import Gray, Life, LifeEvent, Release
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.routing.route import Route
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.change import Edit, Wish
from controlplane.engine.fleet.fleets import FleetChange
from controlplane.engine.routes.edits import (
    Change,
    RouteItem,
    Signed,
    check_references,
    existing,
    item,
    items,
)
from controlplane.engine.routes.gray_releases import GrayReleases, RouteParts
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import StoredFleet

# A route's end is met within this time, also one that was declared just before it.
LOOK_S = 0.2
# Among so many newest revisions of a route is one that is no gray release.
RECENT = 50


class RouteLife:
    """Takes routes through their lives."""

    def __init__(self, parts: RouteParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._seen: StoredFleet | None = None
        self._next_change_s: float | None = None
        self._gray = GrayReleases(parts, instruments, self._stepped)

    def items(self) -> list[RouteItem]:
        """Every route, by id."""
        return items(self._parts.fleets.current.fleet)

    def item(self, route_id: str) -> RouteItem:
        """One route; `NEW` when there is none."""
        return item(self._parts.fleets.current.fleet, route_id)

    def existing(self, route_id: str) -> RouteItem:
        """One route; NotFound when there is none."""
        return existing(self._parts.fleets.current.fleet, route_id)

    def verdict(self, route_id: str) -> Verdict | None:
        """Of a gray release: whether its next step may follow, as seen last."""
        return self._gray.verdicts.get(route_id)

    def conflicts(self, route_id: str) -> Sequence[RouteConflict]:
        """What a route has to do with others, as it is or would be published.

        Takes longer than the loop may be held up.
        """
        fleet = self._parts.fleets.current.fleet
        found = item(fleet, route_id)
        route = found.published if found.release is None else found.release.route
        if route is None:
            return ()
        others = (one for one in fleet.routes if one.id != route_id)
        return [
            one
            for one in conflicts((*others, route), fleet.whitelists)
            if route_id in (one.route, one.other)
        ]

    async def revisions(
        self, route_id: str | None, limit: int, before: int | None = None
    ) -> Sequence[RouteRevision]:
        """Publications of one route or of all, newest first."""
        return await self._parts.store.revisions(route_id, limit, before)

    async def write(self, route: Route, wish: Wish) -> FleetChange:
        """Keep a draft; Conflict while the route is gray."""
        return await self._edit(route.id, LifeEvent.WRITE, self._signed(wish).write(route), wish)

    async def write_and_publish(self, route: Route, wish: Wish) -> FleetChange:
        """Keep a draft and put it in force; it stays a draft when a check fails."""
        change = await self.write(route, wish)
        if self.item(route.id).life is Life.FULL:
            return change
        return await self.publish(route.id, replace(wish, expected_generation=change.generation))

    async def remove(self, route_id: str, wish: Wish) -> FleetChange:
        """Discard what gets no traffic, else retire."""
        if self.existing(route_id).life in (Life.DRAFT, Life.RETIRED):
            return await self.discard(route_id, wish)
        return await self.retire(route_id, wish)

    async def discard(self, route_id: str, wish: Wish) -> FleetChange:
        """Drop a draft, or what is left of a retired route."""
        change = self._signed(wish).discard(route_id)
        return await self._edit(route_id, LifeEvent.DISCARD, change, wish)

    async def publish(self, route_id: str, wish: Wish) -> FleetChange:
        """Put a draft, gray or retired route in force for all traffic."""
        change = self._signed(wish).publish(route_id)
        return await self._edit(route_id, LifeEvent.PUBLISH, change, wish)

    async def retire(self, route_id: str, wish: Wish) -> FleetChange:
        """Take a route away; it can be published again."""
        change = self._signed(wish).retire(route_id)
        return await self._edit(route_id, LifeEvent.RETIRE, change, wish)

    async def start_gray(self, route_id: str, gray: Gray, wish: Wish) -> FleetChange:
        """Put a draft in force for a part of the traffic."""
        change = self._signed(wish).gray(route_id, gray)
        return await self._edit(route_id, LifeEvent.GRAY, change, wish)

    async def step_gray(self, route_id: str, wish: Wish, step: int | None = None) -> FleetChange:
        """Take a step of a gray release by hand, gate or no gate; None is the next."""
        change = self._signed(wish).step(route_id, step)
        return await self._edit(route_id, LifeEvent.STEP, change, wish)

    async def stop_gray(self, route_id: str, wish: Wish) -> FleetChange:
        """Give all traffic back to the old route; the new one is a draft again."""
        change = self._signed(wish).stop(route_id)
        return await self._edit(route_id, LifeEvent.STOP, change, wish)

    async def rollback(self, route_id: str, wish: Wish, number: int | None = None) -> FleetChange:
        """Publish the exact form of an earlier revision; None is the one before the newest."""
        earlier = await self._earlier(route_id, number)
        change = self._signed(wish).rollback(earlier)
        return await self._edit(route_id, LifeEvent.ROLLBACK, change, wish)

    async def rollback_table(
        self, generation: int, wish: Wish, *, force: bool = False
    ) -> FleetChange:
        """Put all routes, whitelists and L4 routes back to those of a generation of the fleet.

        Raises:
            NotFound: no fleet had the generation.
            Conflict: a route names what is not declared any more.
            Refused: it changes a large share and is not forced.
        """
        earlier = await self._parts.store.at(generation)

        def change(fleet: Fleet) -> Fleet:
            return check_references(
                replace(
                    fleet,
                    routes=earlier.routes,
                    whitelists=earlier.whitelists,
                    l4_routes=earlier.l4_routes,
                )
            )

        edit = Edit(
            change=change,
            author=wish.author,
            event="force_rollback" if force else LifeEvent.ROLLBACK,
            subject=f"routes@{generation}",
            reason=wish.reason,
            expected_generation=wish.expected_generation,
        )
        return await self._parts.fleets.edit(edit, guarded=not force)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            pause_s = await self.look()
            await asyncio.sleep(pause_s)

    async def look(self) -> float:
        """What time changes: routes that begin or end, gray steps; seconds until the next look."""
        now_s = self._now()
        current = self._parts.fleets.current
        due = self._next_change_s is not None and self._next_change_s <= now_s
        if due:
            self._parts.pokes.poke(Trigger.OPERATOR)
        if due or current is not self._seen:
            self._seen = current
            fleet = current.fleet
            self._next_change_s = next_change(fleet.routes, fleet.releases, now_s)
        await self._gray.look()
        if self._next_change_s is None:
            return LOOK_S
        return min(LOOK_S, max(self._next_change_s - now_s, 0.001))

    async def _stepped(self, release: Release, reason: str) -> None:
        """Take the next step in the name of who began the release."""
        author = Principal(token_id="", name=release.author, role=AccessRole.OPERATOR)
        wish = Wish(author=author, reason=reason)
        # By its number: somebody may have taken it by hand meanwhile.
        await self.step_gray(release.route.id, wish, release.step + 1)

    async def _earlier(self, route_id: str, number: int | None) -> Route:
        if number is not None:
            named = await self._parts.store.revision(number)
            if named.route != route_id:
                raise NotFound("revision_not_found", f"revision {number} is of route {named.route}")
            return named.route_after
        for newest in await self._parts.store.revisions(route_id, RECENT):
            # A gray release left the old form in force.
            if newest.event == LifeEvent.GRAY:
                continue
            if not newest.before:
                raise Conflict(
                    "revision_without_route",
                    f"route {route_id} was not published before revision {newest.number}: "
                    "name a revision, or retire the route",
                )
            return replace(newest, after=newest.before).route_after
        raise NotFound("revision_not_found", f"route {route_id} was never published")

    async def _edit(
        self, route_id: str, event: LifeEvent, change: Change, wish: Wish
    ) -> FleetChange:
        edit = Edit(
            change=change,
            author=wish.author,
            event=event,
            subject=f"route/{route_id}",
            reason=wish.reason,
            expected_generation=wish.expected_generation,
        )
        return await self._parts.fleets.edit(edit)

    def _signed(self, wish: Wish) -> Signed:
        return Signed(author=wish.author.name, now_s=self._now())
