"""The course of intents: what time brings them.

Owned by `intents`. Admission that is in force lets load move, ramps take their steps, expiry comes
also for what expired while no process ran, and what has gone back ends. Each step is stored and
audited like an operator's.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, Retryable
from controlplane.domain.intents.grounding import unknown
from controlplane.domain.intents.intent import (
    Intent,
    IntentEvent,
    IntentKind,
    IntentState,
    advanced,
)
from controlplane.domain.intents.presence import TAKING, next_change, returned
from controlplane.domain.intents.set_back import ahead_s, moved_back
from controlplane.domain.snapshot import Content
from controlplane.domain.telemetry import ServiceWindow
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.intents.progress import Progress, progress
from controlplane.engine.intents.register import IntentRegister
from controlplane.engine.intents.standing import InForce, Standing
from controlplane.engine.intents.troubles import IntentTroubles
from controlplane.engine.pokes import Pokes
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.set_back import TOLERANCE_S, SetBack
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import SnapshotStore

log = structlog.get_logger(__name__)

# Longest pause between two looks, and the pause while something is under way.
LOOK_S = 0.5
BUSY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentTimes:
    """Times of intents.

    Attributes:
        drain_s: a drain takes this long unless its author says otherwise.
        return_s: so does the way back.
        admission_s: how long load waits at most for the survivors' admission; not scaled.
        fresh_s: a sample that is older says nothing of now.
    """

    drain_s: float = 60.0
    return_s: float = 60.0
    admission_s: float = 2.0
    fresh_s: float = 120.0


def scaled(times: IntentTimes, factor: float) -> IntentTimes:
    """The times of the demo profile: multiplied by `factor` (> 0)."""
    return replace(
        times,
        drain_s=times.drain_s * factor,
        return_s=times.return_s * factor,
        fresh_s=times.fresh_s * factor,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentParts:
    """What intents read and write."""

    register: IntentRegister
    standing: Standing
    snapshots: SnapshotStore
    fleets: Fleets
    publication: Publication
    pokes: Pokes
    window: Callable[[str], ServiceWindow]
    couriers: Sequence[Courier] = ()


class IntentCourse:
    """Moves intents along.

    Attributes:
        changing: held by whoever changes the register.
    """

    def __init__(self, parts: IntentParts, instruments: Instruments, times: IntentTimes) -> None:
        self._parts = parts
        self._register = parts.register
        self._now = instruments.now
        self._times = times
        self._clock = SetBack(self._now)
        self._back_s = 0.0
        self._woken = asyncio.Event()
        self._troubles = IntentTroubles(
            parts.register, parts.couriers, lambda: parts.fleets.current.fleet, instruments
        )
        self._in_force: InForce | None = None
        self.changing = asyncio.Lock()
        parts.standing.told = self._told

    @property
    def content(self) -> Content:
        """What would be published without intents."""
        if self._in_force is not None:
            return self._in_force.base
        below = self._parts.standing.below(self._parts.publication.current)
        return Content() if below is None else below.content

    async def progress(self, intent: Intent) -> tuple[Progress, ...]:
        """How far an intent is on each data plane."""
        return await progress(intent, self._parts.couriers)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            pause_s = await self.look()
            try:
                async with asyncio.timeout(pause_s):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()

    async def look(self) -> float:
        """Do what time brings; seconds until the next look."""
        if not self._register.standing and not self._register.unsaved:
            self._clock.since_last_s()
            self._back_s = 0.0
            await self._troubles.report()
            return LOOK_S
        try:
            async with self.changing:
                await self.keep_time()
                # What time brings was promised when the store was there, or ordered without it.
                await self._advance()
                await self._register.save()
                await self._complete()
        except (Retryable, Conflict) as error:
            # The state in force stays; the next look tries again.
            log.warning("intents.not_advanced", reason=error.message)
        await self._troubles.report()
        return self._pause_s()

    def hurry(self) -> None:
        """Have what changed published, ahead of everything else."""
        self._parts.pokes.hurry()
        self._woken.set()

    def entry(self, intent: Intent, author: str, event: str, reason: str) -> AuditEntry:
        """The audit entry of an event of an intent."""
        return AuditEntry(
            time_s=self._now(),
            author=author,
            action=f"intent.{event}",
            subject=intent.subject,
            reason=reason,
            after=f"{intent.state}" + (f" ({intent.ending})" if intent.ending else ""),
        )

    async def keep_time(self) -> None:
        """Keep ramps and expiries as long as they are under a clock that was set back.

        Called with `changing` held, before anything gets a time of the clock. Between two processes
        it can only be seen that it was set back: by times that are to come.
        """
        self._back_s += self._clock.since_last_s()
        now_s, change = self._now(), self._register.change + 1
        moved = []
        for one in self._register.standing:
            by_s = max(self._back_s, ahead_s(one, now_s))
            if by_s > TOLERANCE_S:
                moved.append(moved_back(one, by_s, change))
        if moved:
            words = "the clock was set back"
            entries = [self.entry(one, "time", "set_back", words) for one in moved]
            await self._register.put(moved, entries, at_once=True)
            log.warning("intents.clock_set_back", intents=len(moved))
            self._parts.pokes.hurry()
        self._back_s = 0.0

    async def _complete(self) -> None:
        """Remember the splits of services that came after an intent that touches them."""
        if self._in_force is None:
            return
        change = self._register.change + 1
        completed = [
            replace(one, before=(*one.before, *rows), change=change)
            for one, rows in unknown(self._register.standing, self.content)
        ]
        if completed:
            await self._register.put(completed, [])
            self._parts.pokes.hurry()

    async def _advance(self) -> None:
        now_s = self._now()
        for intent in self._register.standing:
            if (event := await self._due(intent, now_s)) is None:
                continue
            moved = [advanced(intent, event, now_s, self._register.change + 1)]
            if event is IntentEvent.DONE:
                moved += self._restored(intent, now_s)
            entries = [self.entry(one, "time", event.value, "") for one in moved]
            await self._register.put(moved, entries, at_once=True)
            log.info("intent.advanced", id=intent.id, state=moved[0].state)
            self._parts.pokes.hurry()
        due = next_change(
            self._register.standing, now_s if self._in_force is None else self._in_force.now_s
        )
        if due is not None and due <= now_s:
            self._parts.pokes.hurry()

    async def _due(self, intent: Intent, now_s: float) -> IntentEvent | None:
        """What happens to an intent now; None is nothing."""
        expires_s = intent.wanted.expires_s
        if intent.state is IntentState.RETURNING:
            return IntentEvent.RETURNED if self._shown(intent) else None
        if expires_s is not None and expires_s <= now_s:
            return IntentEvent.EXPIRE
        if intent.state is IntentState.PREPARING and await self._admitted(intent, now_s):
            return IntentEvent.READY
        if intent.kind is IntentKind.RESTORE and self._shown(intent):
            return IntentEvent.DONE
        return None

    async def _admitted(self, intent: Intent, now_s: float) -> bool:
        """Whether the survivors' admission is in force everywhere, or waited for enough."""
        # Also after a clock that went back: the load of the dead one waits for no hour to pass.
        if not 0 <= now_s - intent.created_s < self._times.admission_s:
            return True
        if not intent.published:
            return False
        return all(one.complete for one in await self.progress(intent))

    def _shown(self, intent: Intent) -> bool:
        """Whether the last step of the way back is what is published."""
        if self._in_force is None or intent.change not in self._in_force.changes:
            return False
        return returned(intent, self._in_force.now_s)

    def _restored(self, restore: Intent, now_s: float) -> list[Intent]:
        """What a restore that is done has brought back, as ended."""
        return [
            advanced(one, IntentEvent.REPLACE, now_s, self._register.change + 1)
            for one in self._register.standing
            if one.kind in TAKING
            and one.number < restore.number
            and restore.target.covers(one.target)
        ]

    def _pause_s(self) -> float:
        now_s = self._now()
        busy = any(
            one.state is not IntentState.ACTIVE or one.kind is IntentKind.RESTORE
            for one in self._register.standing
        )
        due = next_change(self._register.standing, now_s)
        pause_s = BUSY_S if busy else LOOK_S
        return pause_s if due is None else max(0.001, min(pause_s, due - now_s))

    def _told(self, in_force: InForce) -> None:
        self._in_force = in_force
        self._register.published(in_force)
        self._woken.set()
