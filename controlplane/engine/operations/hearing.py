"""Hears alerts and findings: what is told is asked beside the loop what it wants, and kept.

Owned by `alerts`. Hundreds of expressions for each alert are too much for the event loop, which
brings failovers to the planes meanwhile.
"""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.alerts import Alert, AlertStatus
from controlplane.domain.operations.listening import Listening, Match, listening, match
from controlplane.engine.operations.firing import NOTHING, Firing
from controlplane.engine.operations.items import Items
from controlplane.engine.set_back import SetBack
from controlplane.engine.stages import Instruments

K = TypeVar("K", bound=Hashable)
# Matchers that are asked on the loop: about a millisecond. A thread would make each message of a
# storm wait for its turn.
MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What became of one message: alerts that fire or are over, and those beyond the limit."""

    firing: int = 0
    resolved: int = 0
    dropped: int = 0


class Hearing:
    """Owns what fires. `received` counts alerts that were told."""

    def __init__(self, policies: Items[AlertPolicy], instruments: Instruments) -> None:
        self._policies = policies
        self._now = instruments.now
        self._findings = instruments.findings
        self._clock = SetBack(self._now)
        self._listening = Listening()
        self._renewing = asyncio.Lock()
        self.firing = Firing()
        self.received = 0

    async def take(self, alerts: Sequence[Alert]) -> Told:
        """Take a message; one that is short waits for no other."""
        matches = await self._matched(alerts)
        self._keep_time()
        now_s = self._now()
        self.received += len(alerts)
        firing = resolved = 0
        for alert, found in zip(alerts, matches, strict=True):
            if alert.status is AlertStatus.RESOLVED:
                self.firing.resolve(alert)
                resolved += 1
            else:
                firing += self.firing.hear(alert, found, now_s)
        return Told(firing=firing, resolved=resolved, dropped=len(alerts) - firing - resolved)

    async def renew(self) -> None:
        """After a change of policies ask anew what every alert wants; hundreds of expressions for
        each are too much for the loop."""
        if self.firing.policies is self._policies.all:
            return
        async with self._renewing:
            policies = self._policies.all
            if self.firing.policies is policies:
                return
            # What is heard meanwhile is asked by the new ones already.
            self._listening = await asyncio.to_thread(listening, tuple(policies.values()))
            alerts = self.firing.alerts
            found = await asyncio.to_thread(_matches, self._listening, alerts) if alerts else {}
            self.firing.renew(policies, found)

    async def look(self) -> None:
        """Hear what stands of our own findings, and forget what nobody tells any more."""
        await self.renew()
        standing = self.firing.wanted(self._findings.standing())
        matches = await self._matched(standing)
        self._keep_time()
        now_s = self._now()
        if self.firing.listens_to_findings:
            self.firing.hear_findings(list(zip(standing, matches, strict=True)), now_s)
        self.firing.forget(now_s)

    async def _matched(self, alerts: Sequence[Alert]) -> list[Match]:
        """What each of them asks for; who is known already is not asked again."""
        await self.renew()
        fresh = {
            place: alert
            for place, alert in enumerate(alerts)
            if alert.status is AlertStatus.FIRING and self.firing.known(alert) is None
        }
        found = await self._asked(fresh)
        return [
            found.get(place) or self.firing.known(alert) or NOTHING
            for place, alert in enumerate(alerts)
        ]

    def _keep_time(self) -> None:
        """Before anything gets a time: what has one of before the clock was set back moves."""
        if back_s := self._clock.since_last_s():
            self.firing.set_back(back_s)

    async def _asked(self, fresh: Mapping[int, Alert]) -> dict[int, Match]:
        """What they ask for, by the policies that are in force when it is known."""
        while True:
            asked = self._listening
            if _work(asked, len(fresh)) <= MOST_AT_ONCE:
                return _matches(asked, fresh)
            found = await asyncio.to_thread(_matches, asked, fresh)
            if asked is self._listening:
                return found


def _work(policies: Listening, count: int) -> int:
    return count * sum(len(one.matchers) for one in policies.policies)


def _matches(policies: Listening, alerts: Mapping[K, Alert]) -> dict[K, Match]:
    return {key: match(policies, alert) for key, alert in alerts.items()}
