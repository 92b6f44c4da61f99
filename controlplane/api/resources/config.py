"""GET /v1/config, /weights, /routes, /policies: what gateways fetch, poll and cache.

Bodies are the snapshot's own canonical bytes, so the tag is their digest and the agent decodes
them with `domain.snapshot`. The routes of one gateway group come as the tree that it matches with
(`domain.routing.matching.wire`).
"""

import re
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from controlplane.api.dependencies import ApiServices, ConfigReader, Secret, Services
from controlplane.api.edge.conditional import (
    ConfigBytes,
    TableBytes,
    etag_of,
    matches,
    table_tag,
    wait_for_change,
)
from controlplane.api.published import check_group, known
from controlplane.api.wire.values import Answers
from controlplane.domain.access import Permission, allowed
from controlplane.domain.errors import Invalid
from controlplane.domain.snapshot import Section, Snapshot

LONGEST_WAIT_S = 60.0
# Law 1: a copy may be used for a day while the control plane is away, and is asked for each time.
CACHE_CONTROL = "private, max-age=0, must-revalidate, stale-if-error=86400"
IDENTITY = re.compile(r"([A-Za-z0-9._-]{1,64});([A-Za-z0-9._-]{1,64})", re.ASCII)
ANSWER: Answers = {
    200: {"content": {"application/json": {}}, "description": "Canonical JSON with its tag"},
    304: {"description": "The caller has it already"},
}

router = APIRouter(prefix="/v1", tags=["config"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway that names itself; `group` is its gateway group."""

    name: str
    group: str


async def gateway_of(
    services: Services,
    caller: ConfigReader,
    secret: Secret,
    x_signalbox_gateway: Annotated[
        str | None, Header(description="`name;group` of a gateway that takes this in use.")
    ] = None,
) -> Gateway | None:
    """Who takes the configuration in use; only a token that may subscribe is believed."""
    if x_signalbox_gateway is None or not allowed(caller.role, Permission.SUBSCRIBE):
        return None
    match = IDENTITY.fullmatch(x_signalbox_gateway.strip())
    if match is None:
        raise Invalid(
            "gateway_identity_invalid",
            f"X-Signalbox-Gateway is {x_signalbox_gateway[:80]!r}; give name;group, each 1..64 "
            "of A-Z a-z 0-9 . _ -",
        )
    await services.access.check_node(secret, match[1], match[2])
    return Gateway(name=match[1], group=match[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One read: what the caller holds already, how long it waits, and as whom.

    Attributes:
        group: whose route table is asked for; "" is the section itself.
    """

    services: ApiServices
    whole: ConfigBytes
    tables: TableBytes
    gateway: Gateway | None
    condition: str | None
    wait_s: float
    group: str = ""

    async def answer(self, section: Section | None) -> Response:
        """The section's bytes (None is the whole), or 304 when the caller has them."""
        publication = self.services.publication
        current = publication.current
        if current is not None and self._holds(current, section):
            self._seen(current)
        found = known(
            await wait_for_change(
                publication, lambda snapshot: self._holds(snapshot, section), self.wait_s
            )
        )
        if self._holds(found, section):
            self._seen(found)
            return Response(status_code=304, headers=_headers(found, self._tag(found, section)))
        body = await self._body(found, section)
        headers = _headers(found, self._tag(found, section))
        return Response(body, media_type="application/json", headers=headers)

    async def _body(self, snapshot: Snapshot, section: Section | None) -> bytes:
        if not self.group:
            return self.whole.of(snapshot) if section is None else snapshot.sections[section]
        check_group(snapshot, self.group)
        return await self.tables.of(snapshot, self.group)

    def _tag(self, snapshot: Snapshot, section: Section | None) -> str:
        return table_tag(snapshot, self.group) if self.group else etag_of(snapshot, section)

    def _holds(self, snapshot: Snapshot, section: Section | None) -> bool:
        return matches(self.condition, self._tag(snapshot, section))

    def _seen(self, snapshot: Snapshot) -> None:
        """Record what the gateway proved to hold; what it only fetches counts next time."""
        if self.gateway is not None:
            now_s = self.services.instruments.now()
            self.services.consumers.seen(
                self.gateway.name, self.gateway.group, snapshot.revision, now_s
            )


def _headers(snapshot: Snapshot, etag: str) -> dict[str, str]:
    return {
        "ETag": etag,
        "Cache-Control": CACHE_CONTROL,
        "Vary": "Authorization",
        "X-Signalbox-Revision": str(snapshot.revision),
        "X-Signalbox-Version": snapshot.version,
    }


def _poll(
    request: Request,
    services: Services,
    gateway: Annotated[Gateway | None, Depends(gateway_of)],
    if_none_match: Annotated[str | None, Header()] = None,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for a change.")
    ] = 0.0,
) -> Poll:
    return Poll(
        services=services,
        whole=request.app.state.config_bytes,
        tables=request.app.state.table_bytes,
        gateway=gateway,
        condition=if_none_match,
        wait_s=wait,
    )


Polled = Annotated[Poll, Depends(_poll)]


@router.get("/config", responses=ANSWER, response_class=Response)
async def read_config(poll: Polled) -> Response:
    """The whole published configuration."""
    return await poll.answer(None)


@router.get("/weights", responses=ANSWER, response_class=Response)
async def read_weights(poll: Polled) -> Response:
    """Integer weights per service and data centre, in basis points."""
    return await poll.answer(Section.WEIGHTS)


@router.get("/routes", responses=ANSWER, response_class=Response)
async def read_routes(
    poll: Polled,
    gateway: Annotated[
        str,
        Query(
            max_length=64, description="A gateway group: its routes as the tree it matches with."
        ),
    ] = "",
) -> Response:
    """Gateway groups and their routes, or the route table of one group."""
    return await replace(poll, group=gateway).answer(Section.ROUTES)


@router.get("/policies", responses=ANSWER, response_class=Response)
async def read_policies(poll: Polled) -> Response:
    """Admission policies; who takes them and says who it is counts as an agent of its group."""
    if poll.gateway is not None:
        poll.services.policy_reports.polled(poll.gateway.group)
    return await poll.answer(Section.ADMISSION)
