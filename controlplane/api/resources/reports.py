"""GET /v1/models/{digest}/report, its model card, and two versions compared.

As JSON for programs and the console, as one HTML file that needs no network for people. The
figures were measured when the version was trained; nothing is computed here but the page.
"""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Path, Query, Response

from controlplane.api.dependencies import ApiServices, Services, Viewer
from controlplane.api.wire.decisions import decision_of
from controlplane.api.wire.values import Answers
from controlplane.domain.decisions import Decision
from models.reports import card, document

JSON, HTML, MARKDOWN = "application/json", "text/html", "text/markdown"
# A saved page may run its own scripts, and nothing else: no token of the console is in reach.
PAGE_POLICY = "; ".join(
    (
        "sandbox allow-scripts",
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


class ReportFormat(StrEnum):
    """How a report is answered, whatever `Accept` says."""

    JSON = "json"
    HTML = "html"


Digest = Annotated[str, Path(max_length=128)]
Wanted = Annotated[
    ReportFormat | None, Query(alias="format", description="Left out, `Accept` decides.")
]
Accept = Annotated[str, Header()]


def _answers(*media_types: str) -> Answers:
    return {200: {"content": {name: {} for name in media_types}}}


router = APIRouter(prefix="/v1", tags=["models"])


@router.get("/models/{digest}/report", responses=_answers(JSON, HTML), response_class=Response)
async def read_report(
    services: Services,
    _caller: Viewer,
    digest: Digest,
    wanted: Wanted = None,
    accept: Accept = JSON,
) -> Response:
    """What was measured about a model: curves, errors, residuals, coverage, loss, card."""
    sheet = await _sheet(services, digest)
    content = document.of_one(sheet)
    newest = services.loop.decisions.get(sheet["model"]["service"])
    if newest is not None and newest.model == digest:
        content["decision"] = _decided(newest)
    return await _answer(f"{sheet['model']['service']} {digest[:12]}", content, wanted, accept)


@router.get("/models/{digest}/card", responses=_answers(MARKDOWN, JSON), response_class=Response)
async def read_card(
    services: Services, _caller: Viewer, digest: Digest, accept: Accept = MARKDOWN
) -> Response:
    """The model card: Markdown, or its sections as JSON when asked for."""
    sheet = await _sheet(services, digest)
    if JSON in accept:
        return _json({"digest": digest, "sections": card.card(sheet)})
    return Response(card.markdown(sheet), media_type=MARKDOWN, headers={"Vary": "Accept"})


@router.get(
    "/models/{digest}/compare/{other}", responses=_answers(JSON, HTML), response_class=Response
)
async def compare_models(
    *,
    services: Services,
    _caller: Viewer,
    digest: Digest,
    other: Digest,
    wanted: Wanted = None,
    accept: Accept = JSON,
) -> Response:
    """Two models side by side: provenance, settings, laws, scores, and their curves."""
    first, second = await _sheet(services, digest), await _sheet(services, other)
    content = document.of_two(first, second)
    title = f"{first['model']['service']} {digest[:12]} - {other[:12]}"
    return await _answer(title, content, wanted, accept)


async def _sheet(services: ApiServices, digest: str) -> dict[str, Any]:
    found = await services.reports.of(digest)
    sheet: dict[str, Any] = orjson.loads(found.sheet)
    sheet["aliases"] = list(found.stored.aliases)
    return sheet


async def _answer(
    title: str, content: dict[str, Any], wanted: ReportFormat | None, accept: str
) -> Response:
    as_page = wanted is ReportFormat.HTML or (wanted is None and HTML in accept)
    if not as_page:
        return _json(content)
    page = await asyncio.to_thread(document.page, title, content)
    headers = {"Vary": "Accept", "Content-Security-Policy": PAGE_POLICY}
    return Response(page, media_type=HTML, headers=headers)


def _json(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type=JSON, headers={"Vary": "Accept"})


def _decided(decision: Decision) -> dict[str, Any] | None:
    """The newest decision's curve over the primary's share, with its interval; None without one."""
    whole = decision_of(decision)
    curve = [point.model_dump() for point in whole.curve if point.response_time_ms is not None]
    if not curve:
        return None
    return {
        "time": whole.time.isoformat(),
        "strategy": decision.strategy,
        "applied": decision.applied[0],
        "decided": decision.decided[0],
        "support": whole.support,
        "curve": curve,
    }
