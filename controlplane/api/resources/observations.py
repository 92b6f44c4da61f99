"""/v1/health and /v1/observations: who is well, what observers probe, and what they say."""

from typing import Annotated

from fastapi import APIRouter, Query, status

from controlplane.api.dependencies import ConfigReader, SampleSender, Services, Viewer
from controlplane.api.wire.health import (
    HealthOut,
    ObservationsIn,
    ObservationsTaken,
    TargetsOut,
    health_of,
    opinions_of,
    target_of,
)
from controlplane.domain.errors import Conflict
from controlplane.engine.health.observers import OWN_NAME

router = APIRouter(prefix="/v1", tags=["health of services"])


@router.get("/health")
async def read_health(
    services: Services,
    _caller: Viewer,
    service: Annotated[str | None, Query(max_length=64, description="Of one service only.")] = None,
) -> HealthOut:
    """The picture of health: data centres, observers, and every endpoint with its state."""
    return health_of(services.health.picture, service)


@router.get("/health/targets")
async def read_targets(
    services: Services,
    _caller: ConfigReader,
    observer: Annotated[str, Query(pattern=r"^[A-Za-z0-9._-]{1,64}$")],
) -> TargetsOut:
    """What an observer should probe."""
    health = services.health
    targets = health.observers.targets(observer)
    return TargetsOut(
        generation=health.generation,
        probing=health.observers.shared_by,
        stretch=health.observers.plan.stretch,
        targets=[target_of(key, check) for key, check in targets.items()],
    )


@router.post("/observations", status_code=status.HTTP_202_ACCEPTED)
async def send_observations(
    services: Services, caller: SampleSender, sent: ObservationsIn
) -> ObservationsTaken:
    """Take everything that an observer says; to be sent each second, and at once on a change."""
    if sent.observer == OWN_NAME:
        raise Conflict(
            "observer_name_taken",
            f"{OWN_NAME} is this control plane's own name as an observer: give another with --name",
        )
    health = services.health
    health.observers.admit(sent.observer, caller.token_id, services.instruments.now())
    opinions = opinions_of(sent.opinions, health.observers.checks)
    if sent.leaving:
        health.leave(sent.observer)
    else:
        health.observe(sent.observer, opinions, caller.token_id)
    return ObservationsTaken(
        accepted=len(opinions),
        unknown=len(sent.opinions) - len(opinions),
        generation=health.generation,
        probing=health.observers.shared_by,
    )
