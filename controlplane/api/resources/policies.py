"""/v1/policies...: single policies, dry runs, presets, and what gateways tell about them.

Beside the section that gateways fetch (`config`). Each change is one of the fleet: audited, by
compare-and-set; If-Match names its generation.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from controlplane.api.dependencies import (
    ApiServices,
    Operator,
    Services,
    Subscriber,
    Viewer,
)
from controlplane.api.edge.conditional import ExpectedGeneration, tag
from controlplane.api.edge.large_documents import in_turn, text_of
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.fleet_document.parsing import parse_policy
from controlplane.api.fleet_document.reading import NAME
from controlplane.api.fleet_document.rendering import plain_policy
from controlplane.api.published import known
from controlplane.api.resources.config import Gateway, gateway_of
from controlplane.api.wire.fleet import BODY
from controlplane.api.wire.policies import (
    ModeIn,
    PolicyChangeOut,
    PolicyOut,
    PresetOut,
    ReportIn,
    ReportOut,
    Taken,
    policy_of,
    report_of,
)
from controlplane.api.wire.values import Items, Reason
from controlplane.domain.admission.policy import PolicyKind
from controlplane.domain.admission.presets import PRESETS
from controlplane.domain.errors import Invalid
from controlplane.domain.snapshot import Section
from controlplane.engine.consumers.policy_reports import PolicyReport
from controlplane.engine.fleet.change import Wish
from controlplane.engine.fleet.fleets import FleetChange
from controlplane.engine.fleet.policy_edits import PolicyEdits

router = APIRouter(prefix="/v1", tags=["policies"])

PolicyName = Annotated[str, Path(pattern=rf"^{NAME.pattern}$", description="The policy's name.")]


@router.get("/policies:list")
async def list_policies(
    services: Services,
    _caller: Viewer,
    kind: Annotated[PolicyKind | None, Query(description="Only this kind.")] = None,
    limit: Limit = MOST_ITEMS,
    cursor: Cursor = None,
) -> Items[PolicyOut]:
    """Every declared policy, by name."""
    wanted = [one for one in PolicyEdits(services.fleets).all if kind in (None, one.kind)]
    page, after = page_of(wanted, lambda one: (one.name,), limit, cursor)
    return Items(items=[policy_of(one) for one in page], next=after)


@router.get("/policies:presets")
async def list_presets(_services: Services, _caller: Viewer) -> Items[PresetOut]:
    """Ready-made policies, each as a document without a name."""
    return Items(
        items=[
            PresetOut(
                name=name,
                kind=one.policy.kind,
                description=one.description,
                document={k: v for k, v in plain_policy(one.policy).items() if k != "name"},
            )
            for name, one in sorted(PRESETS.items())
        ]
    )


@router.get("/policies:reports")
async def list_reports(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[ReportOut]:
    """Which version of the policies each gateway runs, and what it cannot enforce."""
    version = _version(services)
    reports = services.policy_reports.all()
    page, after = page_of(reports, lambda one: (one.gateway,), limit, cursor)
    return Items(items=[report_of(one, version) for one in page], next=after)


@router.post("/policies:report")
async def take_report(
    services: Services,
    _caller: Subscriber,
    gateway: Annotated[Gateway | None, Depends(gateway_of)],
    told: ReportIn,
) -> Taken:
    """Take what a gateway tells about itself."""
    if gateway is None:
        raise Invalid(
            "gateway_identity_invalid",
            "a report needs X-Signalbox-Gateway: name;group",
        )
    services.policy_reports.take(
        PolicyReport(
            gateway=gateway.name,
            group=gateway.group,
            version=told.version,
            unreadable=tuple((one.policy, one.reason) for one in told.unreadable),
            heard_s=services.instruments.now(),
        )
    )
    return Taken(version=_version(services))


@router.get("/policies/{name}")
async def read_policy(
    response: Response, services: Services, _caller: Viewer, name: PolicyName
) -> PolicyOut:
    """One policy; the tag is the fleet's generation, for If-Match."""
    response.headers["ETag"] = tag(str(services.fleets.current.generation))
    return policy_of(PolicyEdits(services.fleets).named(name))


@router.put("/policies/{name}", openapi_extra=BODY)
async def write_policy(
    *,
    request: Request,
    response: Response,
    services: Services,
    caller: Operator,
    name: PolicyName,
    reason: Reason = "",
    generation: ExpectedGeneration = None,
) -> PolicyChangeOut:
    """Declare a policy from its document, or change it; every error in it is told."""
    body = await request.body()
    text, fleet = text_of(body), services.fleets.current.fleet
    policy = await in_turn(request, len(body), lambda: parse_policy(text, name, fleet))
    wish = Wish(author=caller, reason=reason, expected_generation=generation)
    change = await PolicyEdits(services.fleets).write(policy, wish)
    return _changed(services, response, name, change)


@router.delete("/policies/{name}")
async def remove_policy(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    name: PolicyName,
    reason: Reason = "",
    generation: ExpectedGeneration = None,
) -> PolicyChangeOut:
    """Take a policy away: gateways stop asking it at once."""
    wish = Wish(author=caller, reason=reason, expected_generation=generation)
    change = await PolicyEdits(services.fleets).remove(name, wish)
    return _changed(services, response, name, change)


@router.post("/policies/{name}:mode")
async def set_mode(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    name: PolicyName,
    wanted: ModeIn,
    generation: ExpectedGeneration = None,
) -> PolicyChangeOut:
    """Have a policy enforced, observed, or neither."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await PolicyEdits(services.fleets).set_mode(name, wanted.mode, wish)
    return _changed(services, response, name, change)


def _changed(
    services: ApiServices, response: Response, name: str, change: FleetChange
) -> PolicyChangeOut:
    response.headers["ETag"] = tag(str(change.generation))
    found = [one for one in PolicyEdits(services.fleets).all if one.name == name]
    return PolicyChangeOut(
        generation=change.generation, policy=policy_of(found[0]) if found else None
    )


def _version(services: ApiServices) -> str:
    return known(services.publication.current).digests[Section.ADMISSION]
