"""A picture of health as findings: what is down, what cannot be believed, what was held.

Called by `engine.health.watch`. One finding for a cluster, not for each of its endpoints: a dead
cluster of a hundred is one trouble.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.health.budget import ProbePlan
from controlplane.domain.health.passive import Passive
from controlplane.domain.health.picture import (
    CenterHealth,
    ClusterHealth,
    Health,
    ObserverHealth,
    ObserverState,
    Place,
    ServiceHealth,
)
from controlplane.domain.health.quorum import voices
from controlplane.domain.health.states import EndpointState
from controlplane.domain.services import AllDown

# Endpoints or observers that are named in one finding.
MOST_NAMED = 5
# Shorter than this a silence or a disagreement is told nobody: observers do not see a fall at the
# same moment.
TOLD_AFTER_S = 2.0
HELD_BY: Mapping[AllDown, str] = {
    AllDown.HOLD: "all_down: hold: what it had is used as before, and no traffic moves",
    AllDown.OPEN: "all_down: open: every endpoint is used, and no traffic moves",
    AllDown.CLOSED: "all_down: closed: no endpoint is used; gateways answer 503",
}
NOT_OBSERVED = "no state changes and nothing is evacuated until most observers are believed again"


def observations(health: Health, now_s: float) -> Iterator[Observation]:
    """Everything that is wrong, by subject."""
    yield from _observers(health, now_s)
    dead = [one for one in health.centers.values() if one.down]
    for center in dead:
        yield _center_down(center)
    names = {one.datacenter for one in dead}
    for service in health.services.values():
        yield from _service(service, names)


def requests_fail_for_one(place: tuple[str, str, str], passive: Passive) -> Observation:
    """What a single reporter sees is told: it may be the one that is cut off."""
    service, datacenter, cluster = place
    return Observation(
        code="requests_fail_for_one",
        subject=_subject(service, datacenter, cluster),
        message=f"{passive.ratio:.0%} of the requests of a single reporter to this cluster fail; "
        "no other reporter says so (clients with one token are one reporter)",
        held="the cluster gets requests as before",
    )


def stretched(plan: ProbePlan) -> Iterator[Observation]:
    """Endpoints are asked less often than declared."""
    if plan.stretch > 1:
        yield Observation(
            code="probes_stretched",
            subject="observers",
            message="there is more to probe than the observers may: intervals are "
            f"{plan.stretch:.1f} times those declared, so a fall is seen that much later; start "
            "more observers or check less often",
            severity=Severity.INFO,
        )


def _observers(health: Health, now_s: float) -> Iterator[Observation]:
    doubted = [
        one
        for one in health.observers
        if one.state is not ObserverState.HEARD and now_s - one.since_s >= TOLD_AFTER_S
    ]
    lost = voices(health.observers) - voices(one for one in health.observers if one not in doubted)
    if health.held and 2 * len(lost) >= len(voices(health.observers)):
        names = ", ".join(f"{one.name} ({one.state})" for one in doubted)
        yield Observation(
            code="observers_lost",
            subject="observers",
            message=f"{len(doubted)} of {len(health.observers)} observers cannot be believed: "
            f"{names}; look at their network and start them again",
            held=NOT_OBSERVED,
            severity=Severity.CRITICAL,
        )
    yield from map(_doubted, doubted)
    yield from _sharing(health.observers)


def _sharing(observers: Iterable[ObserverHealth]) -> Iterator[Observation]:
    """Names of one token, which an operator may take for a majority."""
    names: dict[str, list[str]] = {}
    for one in observers:
        if one.token:
            names.setdefault(one.token, []).append(one.name)
    for token, sharing in names.items():
        if len(sharing) > 1:
            yield Observation(
                code="observers_share_token",
                subject=f"token/{token}",
                message=f"{len(sharing)} observers report with this token: "
                f"{_named(sharing)}; give each a token of its own (signalbox token create)",
                held="they count as one observer",
            )


def _doubted(one: ObserverHealth) -> Observation:
    subject, held = f"observer/{one.name}", "its word does not count"
    if one.state is ObserverState.SILENT:
        words = "has not reported: it is stopped or cannot reach the control plane"
        return Observation(
            code="observer_silent",
            subject=subject,
            message=f"observer {one.name} {words}",
            held=held,
        )
    words = "sees no endpoint well that others see well: it is cut off itself"
    return Observation(
        code="observer_blind", subject=subject, message=f"observer {one.name} {words}", held=held
    )


def _center_down(center: CenterHealth) -> Observation:
    return Observation(
        code="datacenter_down",
        subject=f"datacenter/{center.datacenter}",
        message=f"data centre {center.datacenter} is down: none of the endpoints of its "
        f"{len(center.down_services)} services is usable",
        severity=Severity.CRITICAL,
    )


def _service(service: ServiceHealth, dead: set[str]) -> Iterator[Observation]:
    if service.all_down:
        yield Observation(
            code="all_down",
            subject=f"service/{service.service}",
            message=f"no endpoint of service {service.service} looks well in any data centre"
            f"{_reason(service)}",
            held=HELD_BY[service.policy],
            severity=Severity.CRITICAL,
        )
        return
    for place in service.places:
        if place.down and place.datacenter not in dead:
            yield _place_down(service, place)
        for cluster in place.clusters:
            yield from _cluster(service, place, cluster)


def _place_down(service: ServiceHealth, place: Place) -> Observation:
    return Observation(
        code="service_down",
        subject=_subject(service.service, place.datacenter),
        message=f"service {service.service} has no usable endpoint in {place.datacenter}; "
        "elsewhere it has",
        severity=Severity.CRITICAL,
    )


def _cluster(service: ServiceHealth, place: Place, cluster: ClusterHealth) -> Iterator[Observation]:
    subject = _subject(service.service, place.datacenter, cluster.cluster)
    if cluster.failing:
        yield Observation(
            code="requests_fail",
            subject=subject,
            message="most requests to this cluster fail, as gateways and clients tell, whatever "
            "its checks say",
            held="the cluster gets no requests until its checks pass and its time out is over",
            severity=Severity.CRITICAL,
        )
    unhealthy = [one for one in cluster.endpoints if one.state is EndpointState.UNHEALTHY]
    if unhealthy and not place.down:
        names = _named([one.key.name for one in unhealthy])
        why = next((f": {one.why}" for one in unhealthy if one.why), "")
        yield Observation(
            code="endpoints_unhealthy",
            subject=subject,
            message=f"{len(unhealthy)} of {len(cluster.endpoints)} endpoints fail their checks: "
            f"{names}{why}",
            held="they get no requests",
        )
    flapping = [one.key.name for one in cluster.endpoints if one.flapping]
    if flapping:
        yield Observation(
            code="endpoints_flapping",
            subject=subject,
            message=f"checks of {_named(flapping)} pass and fail by turns",
            held="one that is out stays out until its checks pass for longer than usual",
        )


def _named(names: Sequence[str]) -> str:
    """The first of them, and how many there are besides."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _subject(service: str, datacenter: str, cluster: str = "") -> str:
    named = f" cluster/{cluster}" if cluster else ""
    return f"service/{service} datacenter/{datacenter}{named}"


def _reason(service: ServiceHealth) -> str:
    reasons = (
        one.why
        for place in service.places
        for cluster in place.clusters
        for one in cluster.endpoints
    )
    return next((f": {why}" for why in reasons if why), "")
