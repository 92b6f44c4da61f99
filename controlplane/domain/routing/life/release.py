"""The life of a route: draft, gray, full, retired; and how a gray release goes.

Values and one table. `in_force` makes routes of them, `gates` says when a step may follow;
`engine.routes.life` is told the time and asks both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.errors import Conflict
from controlplane.domain.routing.route import WHOLE, Condition, Route


class Life(StrEnum):
    """Where a route stands. Published are `GRAY` (a part of the traffic) and `FULL` (all)."""

    NEW = "new"
    DRAFT = "draft"
    GRAY = "gray"
    FULL = "full"
    RETIRED = "retired"


class LifeEvent(StrEnum):
    """What is done with a route."""

    WRITE = "write"
    DISCARD = "discard"
    GRAY = "gray"
    STEP = "step"
    STOP = "stop"
    PUBLISH = "publish"
    RETIRE = "retire"
    ROLLBACK = "rollback"


# A draft over a published route leaves that in force; `DISCARD` brings it back to where it was.
TRANSITIONS: Mapping[tuple[Life, LifeEvent], Life] = {
    (Life.NEW, LifeEvent.WRITE): Life.DRAFT,
    (Life.DRAFT, LifeEvent.WRITE): Life.DRAFT,
    (Life.FULL, LifeEvent.WRITE): Life.DRAFT,
    (Life.RETIRED, LifeEvent.WRITE): Life.DRAFT,
    (Life.DRAFT, LifeEvent.DISCARD): Life.NEW,
    (Life.RETIRED, LifeEvent.DISCARD): Life.NEW,
    (Life.DRAFT, LifeEvent.GRAY): Life.GRAY,
    (Life.GRAY, LifeEvent.STEP): Life.GRAY,
    (Life.GRAY, LifeEvent.STOP): Life.DRAFT,
    (Life.DRAFT, LifeEvent.PUBLISH): Life.FULL,
    (Life.GRAY, LifeEvent.PUBLISH): Life.FULL,
    (Life.RETIRED, LifeEvent.PUBLISH): Life.FULL,
    (Life.DRAFT, LifeEvent.RETIRE): Life.RETIRED,
    (Life.GRAY, LifeEvent.RETIRE): Life.RETIRED,
    (Life.FULL, LifeEvent.RETIRE): Life.RETIRED,
    (Life.DRAFT, LifeEvent.ROLLBACK): Life.FULL,
    (Life.FULL, LifeEvent.ROLLBACK): Life.FULL,
    (Life.RETIRED, LifeEvent.ROLLBACK): Life.FULL,
    (Life.NEW, LifeEvent.ROLLBACK): Life.FULL,
}
_CANNOT: Mapping[LifeEvent, str] = {
    LifeEvent.WRITE: "be written",
    LifeEvent.DISCARD: "be discarded",
    LifeEvent.GRAY: "begin a gray release",
    LifeEvent.STEP: "take a step",
    LifeEvent.STOP: "stop being gray",
    LifeEvent.PUBLISH: "be published",
    LifeEvent.RETIRE: "be retired",
    LifeEvent.ROLLBACK: "be rolled back",
}
_INSTEAD: Mapping[Life, str] = {
    Life.NEW: "write it first",
    Life.DRAFT: "publish it, start its gray release, or discard it",
    Life.GRAY: "publish it, or stop its gray release first",
    Life.FULL: "write a draft of it first",
    Life.RETIRED: "publish it again, or write a draft of it first",
}


def after(route_id: str, life: Life, event: LifeEvent) -> Life:
    """Where a route stands after an event; Conflict when it cannot happen now."""
    if (life, event) not in TRANSITIONS:
        raise Conflict(
            "route_life",
            f"route {route_id} is {life}, so it cannot {_CANNOT[event]}: {_INSTEAD[life]}",
            {"life": life, "event": event},
        )
    return TRANSITIONS[life, event]


class GrayBy(StrEnum):
    """What a gray release goes by: a draw for each request, each user's own number, a header that
    testers send, or gateway groups one after another."""

    REQUEST = "request"
    USER = "user"
    HEADER = "header"
    GATEWAYS = "gateways"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrayStep:
    """One step.

    Attributes:
        share: part of requests or users, 1..`WHOLE`; `WHOLE` beside header and gateways.
        gateways: groups that have it from this step on, all earlier ones included.
        hold_s: at least so long before the next step; None waits for an operator.
    """

    share: int = WHOLE
    gateways: tuple[str, ...] = ()
    hold_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the service of the route must show before the next step; None is not asked.

    Attributes:
        most_error_ratio: 0..1. most_response_time_ms: mean.
    """

    most_error_ratio: float | None = 0.01
    most_response_time_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gray:
    """How a gray release goes. After its last step the route is full."""

    by: GrayBy
    steps: tuple[GrayStep, ...]
    header: Condition | None = None
    gate: Gate = Gate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A route beside the published one of its id, if any.

    Attributes:
        life: DRAFT, GRAY or RETIRED; a route without a release is FULL.
        author: who brought it there; changed_s: when, UTC epoch seconds.
        step: index of the gray release's step; since_s: when it began.
    """

    route: Route
    life: Life
    author: str
    changed_s: float
    gray: Gray | None = None
    step: int = 0
    since_s: float = 0.0
