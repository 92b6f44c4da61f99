"""/healthz, /readyz and /metrics: for process supervisors and Prometheus, without a token.

They tell nothing about traffic by name: label values are enums, routes and data planes.
"""

from fastapi import APIRouter, Request, Response, status
from fastapi.responses import PlainTextResponse

from controlplane.api.dependencies import Services
from controlplane.api.metrics import MEDIA_TYPE, HttpMetrics, exposition

router = APIRouter(tags=["health"])


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """200 while the process lives."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse)
async def readyz(response: Response, services: Services) -> str:
    """200 once the first full snapshot is served, 503 before."""
    if services.ready():
        return "ready\n"
    response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return "no snapshot is served yet\n"


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, services: Services) -> Response:
    """All metrics in Prometheus' text format."""
    http: HttpMetrics = request.app.state.metrics
    return Response(await exposition(http, services), media_type=MEDIA_TYPE)
