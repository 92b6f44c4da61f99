"""Revisions: what each publication changed about a route, who did it and why.

Stored with the fleet that they belong to, in one transaction; a rollback publishes the exact
bytes of an earlier one.
"""

from dataclasses import dataclass, field

from controlplane.domain import canonical
from controlplane.domain.errors import Conflict
from controlplane.domain.routing.route import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRevision:
    """One publication of one route.

    Attributes:
        event: what was done: apply, publish, gray, full (a gray release's end), retire, rollback;
            `force_` before it when it was forced.
        generation: of the fleet that it is in.
        before, after: canonical JSON, "" where the route is not published.
        number: given by the store, ascending over all routes; 0 before.
    """

    route: str
    event: str
    author: str
    time_s: float
    generation: int
    reason: str = ""
    before: str = ""
    after: str = ""
    number: int = field(default=0, compare=False)

    @property
    def route_after(self) -> Route:
        """The route as it was published; Conflict when it was taken away."""
        if not self.after:
            raise Conflict(
                "revision_without_route",
                f"revision {self.number} took route {self.route} away: name one that published it, "
                "or retire the route",
            )
        return canonical.decode(Route, self.after.encode())
