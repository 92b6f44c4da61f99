"""Gray releases under watch: what their services show, and whether the next step may follow.

Owned by `life`, which takes the steps. A release that holds is a finding.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.findings import Observation, Source
from controlplane.domain.routing.life.gates import Reading, Seen, Verdict, Word, verdict
from controlplane.domain.routing.life.release import Life, Release
from controlplane.domain.telemetry import Sample, ServiceWindow, mean, reading
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import published_shares
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import FleetStore

log = structlog.get_logger(__name__)

SCOPE = "gray"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteParts:
    """What the life of routes reads and writes.

    Attributes:
        window: of a service, trusted samples only.
        period_s: of samples; fresh_s: older ones are missing.
    """

    fleets: Fleets
    store: FleetStore
    publication: Publication
    pokes: Pokes
    window: Callable[[str], ServiceWindow]
    period_s: float = 60.0
    fresh_s: float = 120.0


class GrayReleases:
    """Judges each gray release at its step; `verdicts` are those seen last, by route.

    Args:
        step: takes the next step of a release, with the reason.
    """

    def __init__(
        self,
        parts: RouteParts,
        instruments: Instruments,
        step: Callable[[Release, str], Awaitable[None]],
    ) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._step = step
        self.verdicts: dict[str, Verdict] = {}

    async def look(self) -> None:
        """Take the steps that may follow; say which releases hold."""
        held: list[Observation] = []
        verdicts: dict[str, Verdict] = {}
        for release in self._parts.fleets.current.fleet.releases:
            if release.life is not Life.GRAY or release.gray is None:
                continue
            age_s = self._now() - release.since_s
            hold_s = release.gray.steps[release.step].hold_s
            # Several times a second, so the metrics are read only when they are asked for.
            waits = hold_s is None or age_s < hold_s
            seen = Seen() if waits else self._seen_of(release)
            found = verdict(release.gray, release.step, age_s, seen)
            if found.word is Word.STEP:
                found = await self._stepped(release, found)
            if found.word is Word.HOLD:
                held.append(_held(release, found))
            verdicts[release.route.id] = found
        self.verdicts = verdicts
        self._findings.report(Source.FLEET, held, scope=SCOPE)

    async def _stepped(self, release: Release, found: Verdict) -> Verdict:
        try:
            await self._step(release, f"gray release: {found.reason}")
        except ControlPlaneError as error:
            return Verdict(word=Word.HOLD, reason=error.message)
        log.info("route.gray_step", route=release.route.id, step=release.step + 1)
        return found

    def _seen_of(self, release: Release) -> Seen:
        service = release.route.service
        if not service:
            return Seen(readings=None, fresh_s=self._parts.fresh_s)
        shares = published_shares(self._parts.publication.current).get(service, {})
        window = self._parts.window(service)
        # A period that began before the step shows what was before.
        since_s = release.since_s + self._parts.period_s
        now_s = self._now()
        readings = tuple(
            _reading(center, window.recent(center, since_s), now_s)
            for center, share in sorted(shares.items())
            if share > 0
        )
        return Seen(readings=readings, fresh_s=self._parts.fresh_s)


def _reading(center: str, samples: Sequence[Sample], now_s: float) -> Reading:
    """Means of what a data centre showed; NaN where a sample does not say."""
    if not samples:
        return Reading(datacenter=center)
    rates = [reading(one, "request_rate_rps") for one in samples]
    return Reading(
        datacenter=center,
        age_s=now_s - samples[-1].received_s,
        requests_s=mean(rates),
        error_ratio=_weighted(samples, rates, "error_ratio"),
        response_time_ms=_weighted(samples, rates, "response_time_ms"),
    )


def _weighted(samples: Sequence[Sample], rates: Sequence[float], name: str) -> float:
    values = [reading(one, name) for one in samples]
    total = math.fsum(rates)
    if not total > 0:
        return mean(values)
    return math.fsum(value * rate for value, rate in zip(values, rates, strict=True)) / total


def _held(release: Release, found: Verdict) -> Observation:
    route_id = release.route.id
    return Observation(
        code="gray_held",
        subject=f"route/{route_id}",
        message=f"the gray release of route {route_id} holds at step {release.step}: "
        f"{found.reason}; bring the metrics back, or step or stop it by hand",
        held=f"route {route_id} at its step",
        force=f"signalbox routes step {route_id}",
    )
