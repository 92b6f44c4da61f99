"""/healthz, /readyz and /metrics: for process supervisors and Prometheus, without a token.

They tell nothing about traffic by name: label values are enums, routes and data planes.
"""

from fastapi import APIRouter, Request, Response, status
from fastapi.responses import PlainTextResponse

from controlplane.api.dependencies import Services
from controlplane.api.metrics.exposition import MEDIA_TYPE, HttpMetrics, exposition

router = APIRouter(tags=["health"])


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """200 while the process lives."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse)
async def readyz(response: Response, services: Services) -> str:
    """200 once the first full snapshot is served, 503 before.

    A store that is away takes nothing from readers, so it is told and stays 200.
    """
    if not services.ready():
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
        return "no snapshot is served yet\n"
    if services.store.away:
        return "ready\nwrites answer 503: the store is away, see the finding store_unavailable\n"
    return "ready\n"


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, services: Services) -> Response:
    """All metrics in Prometheus' text format."""
    http: HttpMetrics = request.app.state.metrics
    return Response(await exposition(http, services), media_type=MEDIA_TYPE)
