"""GET /v1/services: each service now, its samples, and its data set for training."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from controlplane.api.dependencies import ApiServices, Services, Viewer
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, behind, cursor_at, page_of
from controlplane.api.forecasts import ForecastsOut, forecasts_of
from controlplane.api.ladder import LadderOut, ladder_of
from controlplane.api.wire.decisions import DecisionSummary, summary_of
from controlplane.api.wire.values import (
    LAST_S,
    Answers,
    Items,
    SampleOut,
    Time,
    Wire,
    finite,
    sample_or_none,
    seconds,
)
from controlplane.domain.decisions import split_of
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.topology import resolved
from controlplane.domain.units import BASIS_POINTS
from controlplane.engine.learning.dataset import RowMaker, pieces
from controlplane.engine.samples.history import Aged, Resolution, Span

HOUR_S = 3600.0
MOST_SAMPLES = 20_000
# More than there are data centers, so that every page has whole times.
LEAST_SAMPLES = 100
CSV: Answers = {200: {"content": {"text/csv": {}}, "description": "One row for each period"}}

router = APIRouter(prefix="/v1", tags=["services"])

Name = Annotated[str, Path(max_length=64)]


class CenterOut(Wire):
    """A service in one data centre; `share` is the one in force, 0..1.

    `pool` is the shared one that bears it, "" for its own; the capacity is the whole pool's, in
    requests of this service.
    """

    name: str
    role: str
    pool: str
    capacity_rps: float
    endpoints: int
    share: float
    sample: SampleOut | None
    sample_age_s: float | None


class ServiceOut(Wire):
    """A service now; `model` is the digest of its champion, "" without one."""

    name: str
    strategy: str
    model: str
    ladder: LadderOut
    forecasts: ForecastsOut
    datacenters: list[CenterOut]
    decision: DecisionSummary | None


class AgedSampleOut(SampleOut):
    """A sample, or the mean of a minute (`resolution`) where the raw ones are gone."""

    resolution: Resolution


@router.get("/services")
async def list_services(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[ServiceOut]:
    """Services by name, with their shares, newest samples and newest decision."""
    fleet = services.fleets.current.fleet
    page, after = page_of(fleet.services, lambda service: (service.name,), limit, cursor)
    return Items(items=[_service(services, service) for service in page], next=after)


@router.get("/services/{name}")
async def read_service(services: Services, _caller: Viewer, name: Name) -> ServiceOut:
    """One service."""
    return _service(services, services.fleets.current.fleet.service(name))


@router.get("/services/{name}/samples")
async def list_samples(
    services: Services,
    _caller: Viewer,
    name: Name,
    since: Annotated[
        Time | None, Query(description="RFC 3339 or epoch seconds; the last hour if left out.")
    ] = None,
    until: Annotated[
        Time | None, Query(description="RFC 3339 or epoch seconds; everything if left out.")
    ] = None,
    limit: Annotated[int, Query(ge=LEAST_SAMPLES, le=MOST_SAMPLES)] = MOST_SAMPLES,
    cursor: Cursor = None,
) -> Items[AgedSampleOut]:
    """The newest samples of a service, by time; `next` goes back. Old ones are minute means."""
    services.fleets.current.fleet.service(name)
    last_s = LAST_S if until is None else seconds(until)
    after = behind(cursor, (float,))
    span = Span(
        since_s=services.instruments.now() - HOUR_S if since is None else seconds(since),
        until_s=last_s if after is None else min(last_s, float(after[0])),
    )
    found = await services.history.newest(name, span, limit + 1)
    page, earlier = _whole_times(found, limit)
    return Items(items=await asyncio.to_thread(_aged, page), next=earlier)


@router.get("/services/{name}/dataset", responses=CSV, response_class=StreamingResponse)
async def read_dataset(
    services: Services,
    _caller: Viewer,
    name: Name,
    since: Annotated[
        Time | None, Query(description="RFC 3339 or epoch seconds; everything if left out.")
    ] = None,
) -> StreamingResponse:
    """The training data set of a service, in the format that `signalbox models train` reads."""
    service = services.fleets.current.fleet.service(name)
    since_s = 0.0 if since is None else seconds(since)
    splits = await services.decisions.history(name, since_s)
    found = pieces(RowMaker(service, splits, services.period_s), services.history, since_s)
    # Answered only after the store has: a store that is away is 503, not an empty data set.
    first = await anext(found)
    return StreamingResponse(_after(first, found), media_type="text/csv")


def _whole_times(found: Sequence[Aged], limit: int) -> tuple[Sequence[Aged], str | None]:
    """The newest of samples by time, without a part of one time, and the cursor to the rest."""
    if len(found) <= limit:
        return found, None
    cut_s = found[0][1].time_s
    whole = [one for one in found if one[1].time_s > cut_s]
    return whole, cursor_at((cut_s,))


def _aged(found: Sequence[Aged]) -> list[AgedSampleOut]:
    return [
        AgedSampleOut(**SampleOut.of(sample).model_dump(), resolution=resolution)
        for resolution, sample in found
    ]


async def _after(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for piece in rest:
        yield piece


def _service(services: ApiServices, service: Service) -> ServiceOut:
    decision = services.loop.decisions.get(service.name)
    champion = services.models.champions.get(service.name)
    return ServiceOut(
        name=service.name,
        strategy=service.strategy,
        model="" if champion is None else champion.digest,
        ladder=ladder_of(services, service),
        forecasts=forecasts_of(decision),
        datacenters=_centers(services, service),
        decision=None if decision is None else summary_of(decision),
    )


def _centers(services: ApiServices, service: Service) -> list[CenterOut]:
    roles = {center.name: center.role for center in services.fleets.current.fleet.datacenters}
    window = services.intake.window(service.name)
    shares = _shares(services, service)
    now_s = services.instruments.now()
    samples = {name: window.latest(name) for name in roles}
    return [
        CenterOut(
            name=cluster.datacenter,
            role=roles[cluster.datacenter],
            pool=cluster.pool,
            capacity_rps=cluster.capacity_rps,
            endpoints=len(cluster.endpoints),
            share=shares.get(cluster.datacenter, 0.0),
            sample=sample_or_none(samples[cluster.datacenter]),
            sample_age_s=finite(window.age_s(cluster.datacenter, now_s)),
        )
        for cluster in resolved(services.fleets.current.fleet, service).clusters
    ]


def _shares(services: ApiServices, service: Service) -> Mapping[str, float]:
    """The published ones for every version and source region; sets are sorted by service.

    Where source regions have splits of their own, what the newest decision says they are together.
    """
    decision = services.loop.decisions.get(service.name)
    if decision is not None and decision.regions and service.strategy is StrategyName.REGIONAL:
        return split_of(decision).shares
    current = services.publication.current
    sets = () if current is None else current.content.weights.weights
    at = bisect_left(sets, service.name, key=lambda one: one.service)
    found = at < len(sets) and sets[at].service == service.name
    weights = sets[at].weights if found else {}
    return {center: weight / BASIS_POINTS for center, weight in weights.items()}
