"""GET /v1/gateways: who runs which revision, who refused it and why."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from fastapi import APIRouter

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.values import Wire, stamp
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publishing.couriers import DeliveryStatus
from controlplane.ports.outside import PlaneNode

router = APIRouter(prefix="/v1", tags=["gateways"])

REST = "rest"


class GatewayOut(Wire):
    """One consumer. `kind` is its data plane, or `rest` for one that polls; `reason` says why it
    is not up to date, "" when it is."""

    name: str
    group: str
    kind: str
    connected: bool
    revision: int
    up_to_date: bool
    reason: str
    acked: Mapping[str, str]
    refused: Mapping[str, str]
    seen: datetime
    acks: int
    nacks: int


class RefusedOut(Wire):
    """One item that is not in force as it was published, and what stays in its place."""

    subject: str
    code: str
    message: str
    held: str


class PlaneOut(Wire):
    """What one data plane has; `message` is its own words when it is not in force."""

    plane: str
    state: str
    revision: int
    version: str
    message: str
    since: datetime
    refused: list[RefusedOut]


class GatewaysOut(Wire):
    """The newest revision, and everyone against it; `late_cycles` since the start."""

    revision: int
    version: str
    late_cycles: int
    items: list[GatewayOut]
    next: str | None = None
    planes: list[PlaneOut]


@router.get("/gateways")
async def list_gateways(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> GatewaysOut:
    """Who runs what, by data plane, those that poll first, and name."""
    current = services.publication.current
    revision = 0 if current is None else current.revision
    statuses = [courier.status for courier in services.couriers]
    observed = await asyncio.gather(*(courier.nodes() for courier in services.couriers))
    polling = services.consumers.nodes(services.instruments.now())
    by_kind = [(REST, polling)]
    by_kind += [(status.plane, nodes) for status, nodes in zip(statuses, observed, strict=True)]
    everyone = [(place, *one) for place, one in enumerate(by_kind)]
    nodes = [(place, kind, node) for place, kind, some in everyone for node in some]
    page, after = page_of(
        nodes, lambda one: (float(one[0]), one[2].name, one[2].group), limit, cursor
    )
    return GatewaysOut(
        revision=revision,
        version="" if current is None else current.version,
        late_cycles=services.loop.punctuality.late,
        items=[_gateway(kind, node, current) for _, kind, node in page],
        next=after,
        planes=[_plane(status) for status in statuses],
    )


def why_not(kind: str, node: PlaneNode, newest: Snapshot | None) -> str:
    """Why a consumer does not run the newest revision, "" when it does."""
    if newest is None:
        return "nothing is published yet"
    groups = {group.name for group in newest.content.routes.gateways}
    if kind != REST and node.group not in groups:
        return f"the fleet declares no gateway group {node.group}, so it is sent nothing new"
    if node.refused:
        what = "; ".join(f"{type_name}: {words}" for type_name, words in node.refused)
        return f"it refuses {what}; it keeps what it acknowledged last"
    if not node.connected:
        return f"it is not connected; it had revision {node.revision}"
    if node.revision != newest.revision:
        return f"it has revision {node.revision} and has not taken {newest.revision} yet"
    return ""


def _gateway(kind: str, node: PlaneNode, newest: Snapshot | None) -> GatewayOut:
    reason = why_not(kind, node, newest)
    return GatewayOut(
        name=node.name,
        group=node.group,
        kind=kind,
        connected=node.connected,
        revision=node.revision,
        up_to_date=not reason,
        reason=reason,
        acked=dict(node.acked),
        refused=dict(node.refused),
        seen=stamp(node.seen_s),
        acks=node.acks,
        nacks=node.nacks,
    )


def _plane(status: DeliveryStatus) -> PlaneOut:
    return PlaneOut(
        plane=status.plane,
        state=status.state,
        revision=status.revision,
        version=status.version,
        message=status.message,
        since=stamp(status.since_s),
        refused=[
            RefusedOut(subject=one.subject, code=one.code, message=one.message, held=one.held)
            for one in status.refused
        ],
    )
