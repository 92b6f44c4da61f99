"""Automatic evacuation: what health calls down loses its traffic, and gets it back when it is well.

Looks at each new picture of health and asks for intents like an operator would, as author `health`.
At most one data centre at a time; never the last one; not while too few observers can be believed;
not against what a person has said. What is not done is a finding.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import structlog

from controlplane.domain.errors import Conflict, ControlPlaneError
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.health.picture import Health
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target, Wanted
from controlplane.domain.intents.presence import TAKING
from controlplane.domain.intents.scope import HEALTH, spoken_for
from controlplane.engine.intents.intents import Ask, Intents
from controlplane.engine.set_back import SetBack
from controlplane.engine.stages import Instruments

log = structlog.get_logger(__name__)

SCOPE = "evacuation"
LOOK_S = 0.05
# Without news it is looked again after so long: what was refused may have room by then.
AGAIN_S = 1.0
# What was down everywhere comes back one after the other: an endpoint stays out for 10 s at most
# before its passes count, and marks keep requests from those who are still out.
RECOVERY_S = 10.0


class Failback(StrEnum):
    """What happens when an evacuated place is well again."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvacuationRules:
    """What automation may do.

    Attributes:
        most_centers: data centres that health and alert policies together may leave without
            traffic at once; `intents` sees to it.
        failback: how they come back; `well_s`: after so long without a fault.
    """

    most_centers: int = 1
    failback: Failback = Failback.AUTOMATIC
    well_s: float = 60.0


class Evacuations:
    """Turns pictures of health into intents, and back."""

    def __init__(
        self,
        intents: Intents,
        picture: Callable[[], Health],
        rules: EvacuationRules,
        instruments: Instruments,
    ) -> None:
        self._intents = intents
        self._picture = picture
        self._rules = rules
        self._now = instruments.now
        self._findings = instruments.findings
        self._clock = SetBack(self._now)
        self._well_s: dict[str, float] = {}
        self._all_down_s: dict[str, float] = {}
        self._seen = (-1, -1)
        self._looked_s = float("-inf")

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Evacuate what is down, bring back what is well."""
        picture = self._picture()
        if back_s := self._clock.since_last_s():
            self._well_s = {name: since_s - back_s for name, since_s in self._well_s.items()}
        seen, now_s = (picture.number, self._intents.change), self._now()
        if picture.held or (seen == self._seen and 0 <= now_s - self._looked_s < AGAIN_S):
            return
        self._seen, self._looked_s = seen, now_s
        self._all_down_s |= {name: now_s for name, one in picture.services.items() if one.all_down}
        lost = [one for one in lost_places(picture) if not self._recovers(one, picture, now_s)]
        for intent in self._doubted(now_s):
            words = "health: nothing looks well anywhere, so what was seen first is doubted"
            await self._bring_back(intent, words, return_s=0.0)
        held = [one for target in lost if (one := await self._evacuate(target)) is not None]
        waiting = [one for intent in self._own() if (one := await self._well(intent, picture))]
        self._findings.report(Source.INTENTS, (*held, *waiting), scope=SCOPE)

    def _recovers(self, target: Target, picture: Health, now_s: float) -> bool:
        """Whether a service that is down there was down everywhere a moment ago: who is not back
        yet is no worse than who is."""
        return any(
            0 <= now_s - since_s < RECOVERY_S and picture.down(name, target.datacenter)
            for name, since_s in self._all_down_s.items()
            if target.service in ("", name)
        )

    def _doubted(self, now_s: float) -> list[Intent]:
        """Evacuations of a moment ago, after which everything else looked dead too: more often the
        eyes than the places, and these were only seen first."""
        dark = {name for name, since_s in self._all_down_s.items() if since_s == now_s}
        return [
            one
            for one in self._own()
            if one.ending is None
            and 0 <= now_s - one.created_s < RECOVERY_S
            and (one.target.service in dark or (dark and not one.target.service))
        ]

    def _own(self) -> Iterator[Intent]:
        for one in self._intents.standing:
            if one.author == HEALTH and one.kind in TAKING:
                yield one

    async def _evacuate(self, target: Target) -> Observation | None:
        """Take traffic from a place; what kept it from being done, None when it is done."""
        standing = self._intents.standing
        if any(
            one.kind in TAKING and one.ending is None and one.target.covers(target)
            for one in standing
        ):
            return None
        word = spoken_for(target, standing)
        if word is not None:
            return _not_done(target, f"intent {word.id} of {word.author} says otherwise")
        wanted = Wanted(
            kind=IntentKind.FAILOVER,
            target=target,
            reason="health: it is down here and serves elsewhere",
            return_s=self._intents.times.return_s,
        )
        try:
            made = await self._intents.create(
                Ask(wanted=wanted, author=HEALTH, automatic=True, cause=target.subject)
            )
        except ControlPlaneError as error:
            return _not_done(target, error.message)
        log.warning("evacuation.begun", intent=made.id, target=target.subject)
        return None

    async def _well(self, intent: Intent, picture: Health) -> Observation | None:
        """Bring back what is well again, when it has been for long enough."""
        if intent.state not in (IntentState.ACTIVE, IntentState.PREPARING):
            return None
        if is_down(picture, intent.target):
            self._well_s.pop(intent.id, None)
            return None
        since_s = self._well_s.setdefault(intent.id, self._now())
        if self._rules.failback is Failback.MANUAL:
            return _to_be_restored(intent)
        if self._now() - since_s < self._rules.well_s:
            return None
        if spoken_for(intent.target, self._intents.standing) is not None:
            return None
        await self._bring_back(intent, "health: it is well again")
        return None

    async def _bring_back(self, intent: Intent, reason: str, return_s: float | None = None) -> None:
        try:
            await self._intents.undo(intent.id, HEALTH, reason, return_s=return_s)
        except Conflict:
            # Somebody was faster.
            pass
        except ControlPlaneError as error:
            log.warning("evacuation.not_returned", intent=intent.id, reason=error.message)


def lost_places(picture: Health) -> Iterator[Target]:
    """What is down: whole data centres first, then services in others."""
    whole = {name for name, one in picture.centers.items() if one.down}
    for name in sorted(whole):
        yield Target(datacenter=name)
    for service in sorted(picture.services):
        for place in picture.services[service].places:
            if place.down and place.datacenter not in whole:
                yield Target(service=service, datacenter=place.datacenter)


def is_down(picture: Health, target: Target) -> bool:
    """Whether a place that was evacuated is still down, in any of its services."""
    if target.service:
        return picture.down(target.service, target.datacenter)
    return any(picture.down(service, target.datacenter) for service in picture.services)


def _not_done(target: Target, why: str) -> Observation:
    return Observation(
        code="evacuation_held",
        subject=target.subject,
        message=f"{target.subject} is down and keeps its share of the traffic: {why}",
        held="the split in force; data planes leave dead endpoints by themselves",
        force="signalbox failover --force",
        severity=Severity.CRITICAL,
    )


def _to_be_restored(intent: Intent) -> Observation:
    return Observation(
        code="failback_waiting",
        subject=intent.target.subject,
        message=f"{intent.target.subject} is well again; its traffic was taken by {intent.id}",
        held="its traffic stays elsewhere until somebody restores it",
        force=f"signalbox intents undo {intent.id}",
        severity=Severity.INFO,
    )
