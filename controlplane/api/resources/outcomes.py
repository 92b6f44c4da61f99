"""POST and GET /v1/outcomes: what applications' clients tell about their requests."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, status
from pydantic import Field

from controlplane.api.dependencies import ApiServices, SampleSender, Services, Viewer
from controlplane.api.wire.values import Items, Text, Wire, stamp
from controlplane.domain.errors import NotFound
from controlplane.domain.health.judging import ClusterKey
from controlplane.engine.consumers.outcomes import Outcome, Place, Told

MOST_ROWS = 10_000
# More in one report was counted wrong.
MOST_REQUESTS = 10**12

router = APIRouter(prefix="/v1", tags=["outcomes"])

Name = Annotated[Text, Field(max_length=64)]
Count = Annotated[int, Field(ge=0, le=MOST_REQUESTS)]


class OutcomeIn(Wire):
    """Counts since the client's last report; `cluster` is "" where it has no name."""

    service: Name
    datacenter: Name
    cluster: Name = ""
    served: Count = 0
    error: Count = 0
    timeout: Count = 0
    ejected: Count = 0
    returned: Count = 0


class OutcomesIn(Wire):
    """One report; `client` is the name that the client polls with."""

    client: Name
    outcomes: Annotated[list[OutcomeIn], Field(max_length=MOST_ROWS)]


class OutcomesTaken(Wire):
    """Answer to one report: rows that count, and rows whose service or cluster is not declared."""

    accepted: int
    unknown: int


class OutcomeOut(Wire):
    """Sums of all clients since the start of the control plane."""

    service: str
    datacenter: str
    cluster: str
    served: int
    error: int
    timeout: int
    ejected: int
    returned: int
    last: datetime


@router.post("/outcomes", status_code=status.HTTP_202_ACCEPTED)
async def send_outcomes(
    services: Services, caller: SampleSender, sent: OutcomesIn
) -> OutcomesTaken:
    """Take what a client counted. What is not declared any more is left out.

    For health all clients of one token are one reporter: a name is free to choose.
    """
    now_s = services.instruments.now()
    accepted = 0
    # Rows about one cluster are one word about it, however often a report repeats them.
    told: dict[ClusterKey, tuple[int, int]] = {}
    for row in sent.outcomes:
        place = Place(service=row.service, datacenter=row.datacenter, cluster=row.cluster)
        if _declared(services, place):
            counts = {one: int(getattr(row, one.value)) for one in Outcome}
            services.outcomes.add(place, counts, now_s)
            failed = counts[Outcome.ERROR] + counts[Outcome.TIMEOUT]
            cluster = (place.service, place.datacenter, place.cluster)
            served, earlier = told.get(cluster, (0, 0))
            told[cluster] = served + counts[Outcome.SERVED], earlier + failed
            accepted += 1
    for cluster, (served, failed) in told.items():
        services.health.tell(caller.token_id, cluster, served, failed)
    return OutcomesTaken(accepted=accepted, unknown=len(sent.outcomes) - accepted)


@router.get("/outcomes")
async def list_outcomes(services: Services, _caller: Viewer) -> Items[OutcomeOut]:
    """What clients told, by service, data centre and cluster."""
    return Items(items=[_shown(place, told) for place, told in services.outcomes.told()])


def _declared(services: ApiServices, place: Place) -> bool:
    try:
        service = services.fleets.current.fleet.service(place.service)
    except NotFound:
        return False
    return any(
        (c.datacenter, c.name) == (place.datacenter, place.cluster) for c in service.clusters
    )


def _shown(place: Place, told: Told) -> OutcomeOut:
    return OutcomeOut(
        service=place.service,
        datacenter=place.datacenter,
        cluster=place.cluster,
        served=told.counts[Outcome.SERVED],
        error=told.counts[Outcome.ERROR],
        timeout=told.counts[Outcome.TIMEOUT],
        ejected=told.counts[Outcome.EJECTED],
        returned=told.counts[Outcome.RETURNED],
        last=stamp(told.last_s),
    )
