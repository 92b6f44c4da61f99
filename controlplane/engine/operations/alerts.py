"""Alerts become intents: policies say what is ordered because of what fires.

The API hands over what Alertmanager sends; our own findings are read at each look. Level, not edge:
each look asks anew what the firing alerts want, so a repeated, late or lost message changes nothing
but its own part. An episode of a target holds at most one intent.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.errors import ControlPlaneError, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.intents.intent import Intent
from controlplane.domain.intents.scope import spoken_for
from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.alerts import Alert
from controlplane.domain.operations.episodes import (
    Episode,
    Heard,
    Step,
    author_of,
    gathered,
    room_left,
    step_of,
)
from controlplane.engine.intents.intents import Ask
from controlplane.engine.operations.hearing import Hearing, Told
from controlplane.engine.operations.intent_desk import IntentDesk
from controlplane.engine.operations.items import Items
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import ItemStore

log = structlog.get_logger(__name__)

LOOK_S = 0.2
# A refused order is asked for again after this, one that the store was away for sooner.
REFUSED_S = 10.0
AWAY_S = 1.0
# How often the alerts of an episode that goes on are stored.
STORE_S = 1.0
# Asks that are gathered on the loop: ten thousand are too many for it.
MOST_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertParts:
    """What alerts read and write."""

    policies: Items[AlertPolicy]
    episodes: ItemStore[Episode]
    intents: IntentDesk


class Alerts:
    """What fires, and the episodes that came of it.

    `received` counts alerts and `ordered` intents since the start, for /metrics.
    """

    def __init__(self, parts: AlertParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._hearing = Hearing(parts.policies, instruments)
        self._episodes: dict[str, Episode] = {}
        self._urgent: set[str] = set()
        self._stale: set[str] = set()
        self._stored_s = 0.0
        self._looking = asyncio.Lock()
        self._told = self._looked = 0
        self.ordered = 0

    @property
    def firing(self) -> list[Heard]:
        """What fires, the latest first; also what no policy listens to."""
        return self._hearing.firing.heard

    @property
    def received(self) -> int:
        """Alerts that were told."""
        return self._hearing.received

    @property
    def dropped(self) -> int:
        """Alerts beyond the limit."""
        return self._hearing.firing.dropped

    @property
    def episodes(self) -> Mapping[str, Episode]:
        """By target."""
        return self._episodes

    async def restore(self) -> None:
        """Take up the episodes of the last process."""
        await self._hearing.renew()
        self._episodes = await self._parts.episodes.all()
        self._hearing.firing.restore(self._episodes.values(), self._now())

    async def take(self, alerts: Sequence[Alert]) -> Told:
        """Take a message and act on it before it is answered."""
        told = await self._hearing.take(alerts)
        self._told += 1
        mine = self._told
        async with self._looking:
            # Of many messages that waited for a look under way, one look serves all.
            if self._looked < mine:
                await self._look()
        return told

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Ask what the firing alerts want, and do it."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        told = self._told
        await self._hearing.look()
        now_s = self._now()
        asks, known = self._hearing.firing.asks, dict(self._episodes)
        if len(asks) <= MOST_AT_ONCE:
            asked = gathered(asks, known, now_s)
        else:
            asked = await asyncio.to_thread(gathered, asks, known, now_s)
        for target in sorted({*asked, *self._episodes}):
            episode = asked.get(target) or self._episodes[target]
            await self._settle(episode, asked=target in asked)
        self._looked = told
        idle = [_idle(one) for one in self._episodes.values() if one.words]
        self._findings.report(Source.ALERTS, [*self._hearing.firing.wrong, *idle])
        await self._store()

    async def _settle(self, episode: Episode, *, asked: bool) -> None:
        known = self._parts.intents.known
        policy = self._parts.policies.all.get(episode.policy)
        room = policy is not None and room_left(policy, known.values(), self._now())
        step = step_of(episode, policy, self._intent_of(episode), room=room, asked=asked)
        others = (one for one in known.values() if one.id != episode.intent)
        word = spoken_for(episode.wanted.target, others)
        if word is not None and step in (Step.ORDER, Step.END):
            says = f"intent {word.id} of {word.author} says otherwise"
            self._keep(replace(episode, words=says) if step is Step.ORDER else episode)
        elif step is Step.CLOSE or (step is Step.END and await self._ended(episode)):
            self._episodes.pop(episode.target, None)
            self._urgent.add(episode.target)
        elif policy is not None:
            self._keep(await self._advanced(episode, policy, step))
        else:
            self._keep(episode)

    async def _advanced(self, episode: Episode, policy: AlertPolicy, step: Step) -> Episode:
        match step:
            case Step.ORDER:
                return await self._ordered(episode, policy)
            case Step.LIMIT:
                words = (
                    f"alert policy {policy.name} has ordered {policy.most} intents within "
                    f"{policy.per_s:g} s, which is its limit"
                )
                return replace(episode, words=words)
            case Step.PROPOSE:
                words = f"alert policy {policy.name} only proposes"
                return replace(episode, words=words)
            case _:
                # What somebody else has ordered for the target answers what was refused before.
                return replace(episode, words="") if step is Step.REST else episode

    def _intent_of(self, episode: Episode) -> Intent | None:
        """The one that it ordered, else one that stands for the target already."""
        known = self._parts.intents.known
        own = known.get(episode.intent)
        if own is not None:
            return own
        wanted = episode.wanted
        return next(
            (
                one
                for one in known.values()
                if one.standing
                and one.ending is None
                and one.kind is wanted.kind
                and one.target.covers(wanted.target)
            ),
            None,
        )

    async def _ordered(self, episode: Episode, policy: AlertPolicy) -> Episode:
        now_s = self._now()
        pause_s = REFUSED_S if episode.words else AWAY_S
        # A try in the future is one of before the clock went back.
        if episode.tried_s is not None and 0 <= now_s - episode.tried_s < pause_s:
            return episode
        wanted = replace(
            episode.wanted,
            reason=episode.wanted.reason or f"alert policy {policy.name}",
            expires_s=now_s + policy.lasts_s,
        )
        cause = episode.alerts[0] if episode.alerts else ""
        try:
            intent = await self._parts.intents.order(
                Ask(wanted=wanted, author=author_of(policy.name), cause=cause, automatic=True)
            )
        except Retryable:
            return replace(episode, tried_s=now_s)
        except ControlPlaneError as error:
            return replace(episode, tried_s=now_s, words=error.message)
        self.ordered += 1
        log.info("alerts.ordered", policy=policy.name, target=episode.target, intent=intent.id)
        return replace(episode, intent=intent.id, tried_s=now_s, words="")

    async def _ended(self, episode: Episode) -> bool:
        """Take back its intent; whether that is settled."""
        author = author_of(episode.policy)
        try:
            await self._parts.intents.undo(episode.intent, author, "its alerts are resolved")
        except Retryable:
            return False
        except ControlPlaneError as error:
            log.warning("alerts.not_ended", intent=episode.intent, reason=error.message)
        return True

    def _keep(self, episode: Episode) -> None:
        before = self._episodes.get(episode.target)
        if before == episode:
            return
        self._episodes[episode.target] = episode
        new = before is None or before.intent != episode.intent
        (self._urgent if new else self._stale).add(episode.target)

    async def _store(self) -> None:
        """Bring the store up to date; away, every look tries again.

        An episode in memory is all that is needed until a restart.
        """
        due = not 0 <= self._now() - self._stored_s < STORE_S
        try:
            for target in sorted(self._urgent | (self._stale if due else set())):
                episode = self._episodes.get(target)
                if episode is None:
                    await self._parts.episodes.remove(target)
                else:
                    await self._parts.episodes.put(target, episode)
                self._urgent.discard(target)
                self._stale.discard(target)
        except Retryable:
            return
        if due:
            self._stored_s = self._now()


def _idle(episode: Episode) -> Observation:
    order = f"{episode.wanted.kind} of {episode.target}"
    return Observation(
        code="alert_not_acted_on",
        subject=f"alert-policy/{episode.policy} {episode.target}",
        message=f"{len(episode.alerts)} alerts fire for {episode.target} and {order} was not "
        f"ordered: {episode.words}; order it by hand if it is needed",
        held="no intent is made",
    )
