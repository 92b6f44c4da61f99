"""What gateways and applications tell of their requests, by cluster, as health reads it.

Owned by `watch`. Which cluster is out for it is judged in `domain.health.passive`.
"""

from collections.abc import Iterator
from itertools import chain

from controlplane.domain.findings import Observation
from controlplane.domain.health.ejection import Event
from controlplane.domain.health.judging import ClusterKey
from controlplane.domain.health.passive import (
    QUIET,
    Passive,
    PassiveLimits,
    Telling,
    looked_at,
    still_out,
    told,
)
from controlplane.domain.health.picture import ClusterHealth, Health
from controlplane.domain.health.states import EndpointState
from controlplane.domain.health.words import requests_fail_for_one


class PassiveSignals:
    """Clusters of which something was told lately, or that are out for it."""

    def __init__(self, limits: PassiveLimits) -> None:
        self._limits = limits
        self._clusters: dict[ClusterKey, Passive] = {}

    @property
    def failing(self) -> frozenset[ClusterKey]:
        """Clusters that should get no requests."""
        return frozenset(key for key, one in self._clusters.items() if one.failing)

    def restore(self, health: Health, now_s: float) -> None:
        """Take up what was known: clusters that were out stay so until their time is over."""
        self._clusters = {
            key: still_out(now_s, self._limits)
            for key, one in _clusters(health).items()
            if one.failing
        }

    def tell(self, reporter: str, place: ClusterKey, counts: tuple[int, int], now_s: float) -> bool:
        """Take what was served and what failed since the last report; whether that changes
        who is out."""
        before = self._clusters.get(place, QUIET)
        served, failed = counts
        telling = Telling(reporter=reporter, time_s=now_s, served=served, failed=failed)
        found = told(before, telling, self._limits)
        self._clusters[place] = found
        return found.failing is not before.failing

    def look(self, health: Health, now_s: float) -> set[str]:
        """Let time pass: services of which a cluster came back."""
        if not self._clusters:
            return set()
        back = set()
        clusters = _clusters(health)
        for key, before in list(self._clusters.items()):
            checks = _checks(clusters.get(key))
            found = looked_at(before, checks, now_s, self._limits)
            if found.failing is not before.failing:
                back.add(key[0])
            self._clusters[key] = found
            if not found.tellings and not found.failing and now_s >= self._forgotten_s(found):
                del self._clusters[key]
        return back

    def observations(self) -> Iterator[Observation]:
        """What a single reporter sees, which is not acted on."""
        for key, one in sorted(self._clusters.items()):
            if one.alone and not one.failing:
                yield requests_fail_for_one(key, one)

    def _forgotten_s(self, passive: Passive) -> float:
        """When repetitions no longer count."""
        return (
            passive.ejection.back_s + self._limits.ejection.forget_s
            if passive.ejection.times
            else 0.0
        )


def _clusters(health: Health) -> dict[ClusterKey, ClusterHealth]:
    places = (
        (name, place) for name, service in health.services.items() for place in service.places
    )
    return dict(
        chain.from_iterable(
            (((name, one.datacenter, one.cluster), one) for one in place.clusters)
            for name, place in places
        )
    )


def _checks(cluster: ClusterHealth | None) -> Event:
    endpoints = () if cluster is None else cluster.endpoints
    well = any(one.state is EndpointState.HEALTHY for one in endpoints)
    return Event.PROBE_PASSED if well else Event.PROBE_FAILED
