"""One write of one route: by whom, on top of which generation, and how it is answered.

Called by the resource of routes. A write that comes again under its `Idempotency-Key` is answered
as before: a gray release that is to take a step takes one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Response

from controlplane.api.dependencies import Operator, Services
from controlplane.api.edge.conditional import ExpectedGeneration, tag
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.fleet_document.reading import NAME
from controlplane.api.wire.routes import RouteChangeOut, change_of
from controlplane.engine.fleet.change import Wish
from controlplane.engine.fleet.fleets import FleetChange
from controlplane.engine.routes.life import RouteLife

RouteId = Annotated[str, Path(pattern=rf"^{NAME.pattern}$", description="The route's id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteWrite:
    """Somebody who asks for a change of a route, and where the answer's tag goes."""

    route_id: RouteId
    services: Services
    caller: Operator
    write: Repeatable
    response: Response
    generation: ExpectedGeneration = None

    @property
    def life(self) -> RouteLife:
        return self.services.routes

    async def answer(
        self, reason: str, change: Callable[[Wish], Awaitable[FleetChange]]
    ) -> RouteChangeOut:
        """Make the change, unless it was made before, and tell what the route is now."""
        wish = Wish(author=self.caller, reason=reason, expected_generation=self.generation)
        told = await self.write.once(self.caller, lambda: self._told(change(wish)))
        self.response.headers["ETag"] = tag(str(told.generation))
        return told

    async def _told(self, changing: Awaitable[FleetChange]) -> RouteChangeOut:
        change = await changing
        conflicts = await asyncio.to_thread(self.life.conflicts, self.route_id)
        item = self.life.item(self.route_id)
        return change_of(change, conflicts, item, self.life.verdict(self.route_id))


Asked = Annotated[RouteWrite, Depends()]
