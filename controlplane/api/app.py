"""Makes the HTTP application from the engine's parts. Called by `serving` and by tests."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from controlplane.api.dependencies import ApiServices
from controlplane.api.edge import problems
from controlplane.api.edge.conditional import ConfigBytes, TableBytes
from controlplane.api.edge.idempotency import Answers
from controlplane.api.edge.limits import Edge
from controlplane.api.edge.throttle import Throttle
from controlplane.api.metrics.exposition import HttpMetrics, Measured
from controlplane.api.resources import (
    alert_policies,
    alerts,
    audit,
    changes,
    config,
    decisions,
    findings,
    fleet,
    gateways,
    health,
    incidents,
    intents,
    jobs,
    models,
    observations,
    outcomes,
    policies,
    policy_trials,
    promotions,
    rendered,
    replays,
    reports,
    route_files,
    route_match,
    routes,
    sales,
    samples,
    scenarios,
    services,
    sources,
    tokens,
    watch,
    webhooks,
)

ROUTERS: tuple[APIRouter, ...] = (
    samples.router,
    outcomes.router,
    observations.router,
    fleet.router,
    routes.router,
    route_match.router,
    route_files.router,
    config.router,
    policies.router,
    policy_trials.router,
    rendered.router,
    watch.router,
    decisions.router,
    replays.router,
    services.router,
    sources.router,
    gateways.router,
    findings.router,
    models.router,
    reports.router,
    promotions.router,
    intents.router,
    alerts.router,
    alert_policies.router,
    scenarios.router,
    sales.router,
    changes.router,
    webhooks.router,
    incidents.router,
    jobs.router,
    tokens.router,
    audit.router,
    health.router,
)


def create_app(parts: ApiServices, pages: Sequence[BaseRoute] = ()) -> FastAPI:
    """Make the application.

    Args:
        parts: the engine.
        pages: the console's routes; they get no access that a token does not give.
    """
    app = FastAPI(
        title="Signalbox",
        version=_version(),
        summary="Weights, routes and policies for gateways; decisions and models for people.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = parts
    app.state.throttle = Throttle()
    app.state.config_bytes = ConfigBytes()
    app.state.table_bytes = TableBytes()
    app.state.metrics = HttpMetrics()
    app.state.answers = Answers()
    app.state.reading = asyncio.Semaphore(1)
    app.state.explaining = asyncio.Semaphore(1)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.extend(pages)
    app.add_middleware(Edge)
    app.add_middleware(Measured, metrics=app.state.metrics)
    return app


def _version() -> str:
    try:
        return version("signalbox")
    except PackageNotFoundError:
        return "0"
