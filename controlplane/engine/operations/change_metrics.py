"""What the services of a change show since its stage began, for its gates."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controlplane.domain.operations.change_gates import Reading
from controlplane.domain.operations.changes import Change, Seen
from controlplane.domain.telemetry import Sample, ServiceWindow, mean, reading
from controlplane.domain.topology import Fleet, resolved
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.publishing.couriers import Courier, DeliveryState
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import published_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSources:
    """Where the facts of gates come from.

    Attributes:
        window: of a service, trusted samples only.
        period_s: of samples; fresh_s: older ones are missing.
    """

    fleets: Fleets
    publication: Publication
    couriers: Sequence[Courier]
    window: Callable[[str], ServiceWindow]
    period_s: float = 60.0
    fresh_s: float = 120.0


def seen_of(sources: ChangeSources, change: Change, now_s: float, published: int) -> Seen:
    """What is known of a change that is at a stage.

    Args:
        published: revision that has all intents of the stage; 0 while one is in no snapshot yet.
    """
    fleet = sources.fleets.current.fleet
    shares = published_shares(sources.publication.current)
    names = change.services or {service.name for service in fleet.services}
    readings = [
        one
        for name in sorted(names & shares.keys())
        for one in _readings(sources, fleet, name, (change.stage_s, now_s))
        if shares[name].get(one.datacenter, 0.0) > 0
    ]
    behind = _behind(sources.couriers, published)
    return Seen(readings=tuple(readings), behind=behind, fresh_s=sources.fresh_s)


def _behind(couriers: Iterable[Courier], published: int) -> str:
    if published == 0:
        return "the stage is not published yet"
    for courier in couriers:
        status = courier.status
        if status.revision < published or status.state is not DeliveryState.IN_FORCE:
            return f"data plane {status.plane} does not run the stage yet"
    return ""


def _readings(
    sources: ChangeSources, fleet: Fleet, name: str, span_s: tuple[float, float]
) -> Iterator[Reading]:
    stage_s, now_s = span_s
    window = sources.window(name)
    capacities = {
        cluster.datacenter: cluster.capacity_rps
        for service in fleet.services
        if service.name == name
        for cluster in resolved(fleet, service).clusters
    }
    for center, capacity_rps in sorted(capacities.items()):
        # A period that began before the stage shows what was before.
        samples = window.recent(center, stage_s + sources.period_s)
        if not samples:
            yield Reading(service=name, datacenter=center)
            continue
        rates = [reading(one, "request_rate_rps") for one in samples]
        yield Reading(
            service=name,
            datacenter=center,
            age_s=now_s - samples[-1].received_s,
            error_ratio=_weighted(samples, rates, "error_ratio"),
            response_time_ms=_weighted(samples, rates, "response_time_ms"),
            utilization=mean(rates) / capacity_rps,
        )


def _weighted(samples: Sequence[Sample], rates: Sequence[float], name: str) -> float:
    values = [reading(one, name) for one in samples]
    total = math.fsum(rates)
    if not total > 0:
        return mean(values)
    return math.fsum(value * rate for value, rate in zip(values, rates, strict=True)) / total
