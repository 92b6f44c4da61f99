"""Routes and their lives on the wire. Called by the resources about routes.

A route itself is a document as in the fleet file, so that what was read can be put back; shares
are 0..1 here and ten-thousandths inside.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictInt, StrictStr

from controlplane.api.fleet_document.reading import NAME
from controlplane.api.fleet_document.rendering import plain_route
from controlplane.api.wire.values import Text, Wire, stamp
from controlplane.domain.routing.conflicts import Conflict, ConflictKind
from controlplane.domain.routing.life.gates import Verdict
from controlplane.domain.routing.life.release import Gate, Gray, GrayBy, GrayStep, Life, Release
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.routing.route import WHOLE, Condition, Route
from controlplane.engine.fleet.fleets import FleetChange
from controlplane.engine.routes.edits import MOST_STEPS, RouteItem

Document = dict[str, Any]
_CONFLICTS: Mapping[ConflictKind, str] = {
    ConflictKind.BY_ID: "{route} and {other} can mean the same request{where}, "
    "and only their ids put one before the other",
    ConflictKind.NEVER_REACHED: "{other} takes every request of {route}{where}",
    ConflictKind.NEVER_FULFILLED: "no request can be like {route}{detail}",
    ConflictKind.OPEN_WHITELIST: "{route} lets unlisted paths of {other} pass{where}",
    ConflictKind.OTHER_HOST: "requests for {host} no longer reach {route}{detail}, "
    "because {other} gives that host routes of its own",
}
Why = Annotated[Text, Field(max_length=500, description="For the audit log.")]
Name = Annotated[StrictStr, Field(pattern=rf"^{NAME.pattern}$")]


class ReasonIn(Wire):
    """Why something is done."""

    reason: Why = ""


class GrayStepIn(Wire):
    """One step: a share of users or requests, or gateway groups; and how long it lasts at least.

    Without `hold_s` it lasts until an operator takes the next one.
    """

    share: Annotated[float, Field(ge=0.0001, le=1.0)] | None = None
    gateways: Annotated[tuple[Name, ...], Field(max_length=1_000)] = ()
    hold_s: Annotated[float, Field(ge=0.0, le=31_536_000.0)] | None = None

    def step(self) -> GrayStep:
        """The domain's step."""
        share = WHOLE if self.share is None else round(self.share * WHOLE)
        return GrayStep(share=share, gateways=tuple(sorted(set(self.gateways))), hold_s=self.hold_s)


class GateIn(Wire):
    """What the service must show before the next step; null is not asked."""

    most_error_ratio: Annotated[float, Field(ge=0.0, le=1.0)] | None = 0.01
    most_response_time_ms: Annotated[float, Field(gt=0.0, le=3_600_000.0)] | None = None


class HeaderIn(Wire):
    """The header that testers send."""

    name: Annotated[StrictStr, Field(pattern=r"^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$")]
    value: Annotated[StrictStr, Field(pattern=r"^[!-~]([ -~]{0,254}[!-~])?$")]


class GrayIn(Wire):
    """How a gray release goes."""

    by: GrayBy
    steps: Annotated[list[GrayStepIn], Field(min_length=1, max_length=MOST_STEPS)]
    header: HeaderIn | None = None
    gate: GateIn = GateIn()
    reason: Why = ""

    def gray(self) -> Gray:
        """The domain's gray release."""
        header = self.header
        return Gray(
            by=self.by,
            steps=tuple(step.step() for step in self.steps),
            header=None if header is None else Condition(name=header.name, value=header.value),
            gate=Gate(
                most_error_ratio=self.gate.most_error_ratio,
                most_response_time_ms=self.gate.most_response_time_ms,
            ),
        )


class StepIn(ReasonIn):
    """Which step of a gray release; null is the next, behind the last one it is full."""

    step: Annotated[StrictInt, Field(ge=0, le=MOST_STEPS)] | None = None


class RollbackIn(ReasonIn):
    """Back to a revision's form; null is the one before the newest publication."""

    revision: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None


class TableRollbackIn(ReasonIn):
    """Back to the routes, whitelists and L4 routes of a generation of the fleet."""

    generation: Annotated[StrictInt, Field(ge=1, le=2**53)]
    force: StrictBool = False


class GrayStepOut(Wire):
    """One step as it is kept."""

    share: float
    gateways: list[str]
    hold_s: float | None


class GrayOut(Wire):
    """Where a gray release is; `verdict` is wait, hold or step, with its reason."""

    by: GrayBy
    step: int
    since: datetime
    steps: list[GrayStepOut]
    header: HeaderIn | None
    gate: GateIn
    verdict: str
    reason: str


class RouteOut(Wire):
    """A route: the published form, and the one that is on its way or was retired."""

    id: str
    life: Life
    published: Document | None
    draft: Document | None
    gray: GrayOut | None
    author: str
    changed: datetime | None


class ConflictOut(Wire):
    """What a route has to do with another one; `other` and `host` may be "", `message` says all."""

    kind: str
    route: str
    other: str
    host: str
    message: str


class RouteChangeOut(Wire):
    """A route after a change; `generation` is that of the fleet."""

    generation: int
    changed: bool
    conflicts: list[ConflictOut]
    route: RouteOut


class RouteTableOut(Wire):
    """What a rollback of the whole table changed."""

    generation: int
    changes: list[str]


class RevisionOut(Wire):
    """One publication; before and after are canonical JSON, "" where it was not published."""

    number: int
    route: str
    event: str
    author: str
    time: datetime
    generation: int
    reason: str
    before: str
    after: str


def route_of(item: RouteItem, verdict: Verdict | None) -> RouteOut:
    """A route on the wire."""
    release = item.release
    return RouteOut(
        id=item.id,
        life=item.life,
        published=_document(item.published),
        draft=None if release is None else _document(release.route),
        gray=None if release is None else _gray(release, verdict),
        author="" if release is None else release.author,
        changed=None if release is None else stamp(release.changed_s),
    )


def change_of(
    change: FleetChange, conflicts: Iterable[Conflict], item: RouteItem, verdict: Verdict | None
) -> RouteChangeOut:
    """A change on the wire."""
    return RouteChangeOut(
        generation=change.generation,
        changed=bool(change.lines),
        conflicts=[conflict_of(one) for one in conflicts],
        route=route_of(item, verdict),
    )


def conflict_of(conflict: Conflict) -> ConflictOut:
    """A conflict on the wire."""
    where = f" on host {conflict.host}" if conflict.host not in ("", "*") else ""
    words = _CONFLICTS[conflict.kind].format(
        route=_named(conflict.route),
        other=_named(conflict.other),
        host=conflict.host,
        where=where,
        detail=f" ({conflict.detail})" if conflict.detail else "",
    )
    return ConflictOut(
        kind=conflict.kind.name.lower(),
        route=conflict.route,
        other=conflict.other,
        host=conflict.host,
        message=words,
    )


def _named(subject: str) -> str:
    """A route, or a whitelist, which says so itself."""
    return subject if subject.startswith("whitelist/") else f"route {subject}"


def revision_of(revision: RouteRevision) -> RevisionOut:
    """A revision on the wire."""
    return RevisionOut(
        number=revision.number,
        route=revision.route,
        event=revision.event,
        author=revision.author,
        time=stamp(revision.time_s),
        generation=revision.generation,
        reason=revision.reason,
        before=revision.before,
        after=revision.after,
    )


def _document(route: Route | None) -> Document | None:
    return None if route is None else plain_route(route)


def _gray(release: Release, verdict: Verdict | None) -> GrayOut | None:
    gray = release.gray
    if gray is None:
        return None
    header = gray.header
    return GrayOut(
        by=gray.by,
        step=release.step,
        since=stamp(release.since_s),
        steps=[
            GrayStepOut(share=s.share / WHOLE, gateways=list(s.gateways), hold_s=s.hold_s)
            for s in gray.steps
        ],
        header=None if header is None else HeaderIn(name=header.name, value=header.value),
        gate=GateIn(
            most_error_ratio=gray.gate.most_error_ratio,
            most_response_time_ms=gray.gate.most_response_time_ms,
        ),
        verdict="" if verdict is None else verdict.word,
        reason="" if verdict is None else verdict.reason,
    )
