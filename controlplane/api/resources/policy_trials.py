"""POST /v1/policies:decide: what policies would say of a request: the published ones, and drafts.

A dry run: nothing is counted, and no gateway hears of it.
"""

import asyncio

from fastapi import APIRouter
from fastapi import Request as HttpRequest

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.fleet_document.parsing import parse_policies
from controlplane.api.published import check_group, known
from controlplane.api.resources.route_match import with_draft
from controlplane.api.wire.policies import DecideIn, DecideOut, DecisionOut, facts_of, said_of
from controlplane.api.wire.values import seconds
from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.admission.trial import trial
from controlplane.domain.routing.callers.authorization import declared_id
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Content

router = APIRouter(prefix="/v1", tags=["policies"])


@router.post("/policies:decide")
async def decide(
    http: HttpRequest, services: Services, _caller: Viewer, wanted: DecideIn
) -> DecideOut:
    """Tell which policies cover a request, what each says, and what becomes of it."""
    current = known(services.publication.current)
    content = current.content
    if wanted.gateway is not None:
        check_group(current, wanted.gateway)
    routes = with_draft(services, content.routes, wanted.draft)
    now_s = services.instruments.now() if wanted.time is None else seconds(wanted.time)
    # Tables of thousands of routes take their time, as in `routes:match`.
    explaining: asyncio.Semaphore = http.app.state.explaining
    async with explaining:
        return await asyncio.to_thread(_decided, wanted, content, routes, now_s)


def _decided(wanted: DecideIn, content: Content, routes: list[Route], now_s: float) -> DecideOut:
    request = Request.of(
        wanted.path, wanted.method, wanted.host, list(wanted.headers.items()), wanted.source
    )
    if isinstance(request, Refusal):
        return _refused(request, wanted)
    table = Table.of(routes, content.routes.whitelists, gateway=wanted.gateway or "")
    route = table.match(request, now_s).route
    asked = Asked(
        request=request,
        now_s=now_s,
        route="" if route is None else declared_id(route),
        service="" if route is None else route.service,
        region=wanted.region or _region(wanted, content),
        user=wanted.user,
    )
    policies = {policy.name: policy for policy in content.admission.policies}
    if wanted.policies is not None:
        policies.update((policy.name, policy) for policy in parse_policies(wanted.policies))
    found = trial(policies.values(), asked, facts_of(policies, wanted.state))
    return DecideOut(
        route=asked.route or None,
        service=asked.service,
        region=asked.region,
        refused="",
        decision=DecisionOut.of(found.decision),
        said=[said_of(one) for one in found.said],
    )


def _region(wanted: DecideIn, content: Content) -> str:
    """Where the traffic of the asked gateway group comes from, "" is unknown."""
    regions = (one.region for one in content.routes.gateways if one.name == wanted.gateway)
    return next(regions, None) or ""


def _refused(refusal: Refusal, wanted: DecideIn) -> DecideOut:
    words = f"the path {refusal.reason}"
    decision = Decision(verdict=Verdict.REFUSE, reason="path_unreadable", status=refusal.status)
    return DecideOut(
        route=None,
        service="",
        region=wanted.region,
        refused=words,
        decision=DecisionOut.of(decision),
        said=[],
    )
