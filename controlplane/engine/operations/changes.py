"""Planned changes in time: stages are begun, judged at their gates, paused, and taken back.

The API plans and steers; the task looks several times a second. Every step is stored before the
next, and an intent that was made just before the process died is found again by its cause, so a
change goes on after a restart where it was.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.errors import ControlPlaneError, Invalid, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.intents.intent import Intent, Wanted
from controlplane.domain.operations.changes import (
    Change,
    ChangeEvent,
    ChangeState,
    OnExcess,
    Verdict,
    Word,
    advanced,
    checked,
    undone_by,
    verdict,
    with_intent,
)
from controlplane.engine.intents.intents import Ask
from controlplane.engine.operations.change_metrics import ChangeSources, seen_of
from controlplane.engine.operations.intent_desk import IntentDesk
from controlplane.engine.operations.items import Items, Written
from controlplane.engine.operations.scenarios import undo_all
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import AuditLog

log = structlog.get_logger(__name__)

LOOK_S = 0.2
CHANGES_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeParts:
    """What changes read and write."""

    changes: Items[Change]
    intents: IntentDesk
    audit: AuditLog
    sources: ChangeSources


class Changes:
    """Moves changes along. `ended` counts final states since the start, for /metrics."""

    def __init__(self, parts: ChangeParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._moving = asyncio.Lock()
        self._verdicts: dict[str, Verdict] = {}
        self.ended: Counter[ChangeState] = Counter()

    @property
    def items(self) -> Items[Change]:
        """All of them."""
        return self._parts.changes

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Of those that run: what they wait for, as seen last."""
        return self._verdicts

    async def plan(self, change: Change, written: Written) -> Change:
        """Keep a new change; it begins at its time, or when an operator starts it."""
        return await self._parts.changes.put(checked(change), written, new=True)

    async def steer(
        self, name: str, event: ChangeEvent, author: Principal, reason: str = ""
    ) -> Change:
        """Start, advance, skip, pause, resume or abort by hand.

        Raises:
            NotFound: there is no such change. Conflict: it cannot happen now.
        """
        async with self._moving:
            change = self._parts.changes.named(name)
            words = f"{event} by {author.name}{f': {reason}' if reason else ''}"
            moved = advanced(change, event, self._now(), words)
            await self._told(change, event, author.name, reason)
            await self._kept(moved)
            return await self._moved(moved)

    async def remove(self, name: str, written: Written) -> Change:
        """Forget a change that is planned or over; Invalid while it is under way."""
        async with self._moving:
            change = self._parts.changes.named(name)
            if not change.final and change.state is not ChangeState.PLANNED:
                raise Invalid("change_invalid", f"change {name} is {change.state}: abort it first")
            return await self._parts.changes.remove(name, written)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Move every change that can be moved now."""
        async with self._moving:
            for change in tuple(self._parts.changes.all.values()):
                if not change.final:
                    await self._tried(change)
            self._report()

    async def _tried(self, change: Change) -> None:
        try:
            await self._moved(change)
        except Retryable as error:
            # The store is away: the next look goes on at the same place.
            self._verdicts[change.name] = Verdict(word=Word.WAIT, reason=error.message)

    async def _moved(self, change: Change) -> Change:
        """One step of one change, as far as it goes."""
        self._verdicts.pop(change.name, None)
        if change.state is ChangeState.PLANNED:
            due = change.starts_s is not None and change.starts_s <= self._now()
            return await self._step(change, ChangeEvent.START, "its time") if due else change
        if change.state is ChangeState.ABORTING:
            author = f"change/{change.name}"
            made = (*reversed(self._unknown(change)), *change.made)
            await undo_all(self._parts.intents, made, author, "the change was aborted")
            return await self._step(change, ChangeEvent.ABORTED, change.words)
        if change.state is ChangeState.RUNNING:
            return await self._judged(await self._entered(change))
        return change

    async def _judged(self, change: Change) -> Change:
        if change.state is not ChangeState.RUNNING:
            return change
        now_s = self._now()
        if change.stage_s > now_s:
            # Begun before the clock was set back: it lasts from here on, not for that long more.
            change = await self._kept(replace(change, stage_s=now_s))
        seen = seen_of(self._parts.sources, change, now_s, self._published(change))
        found = verdict(change, seen, now_s)
        self._verdicts[change.name] = found
        if found.word is Word.STEP:
            return await self._step(change, ChangeEvent.ADVANCE, found.reason)
        if found.word is Word.FINISH:
            return await self._step(change, ChangeEvent.FINISH, found.reason)
        if found.word is Word.EXCESS:
            aborts = change.on_excess is OnExcess.ABORT
            event = ChangeEvent.ABORT if aborts else ChangeEvent.PAUSE
            return await self._step(change, event, found.reason)
        return change

    async def _entered(self, change: Change) -> Change:
        """Do all that the newest stage asks for, each part once."""
        if change.entered:
            return change
        stage, author = change.stages[change.stage], f"change/{change.name}"
        words = change.reason or f"change {change.name}: {stage.title}"
        await undo_all(self._parts.intents, undone_by(change), author, words)
        for number in range(len(change.intents[-1]), len(stage.orders)):
            order = stage.orders[number]
            wanted = replace(order, reason=order.reason or words)
            cause = f"{_cause_of(change)}{change.stage}/{number}"
            try:
                intent = self._made(cause) or await self._parts.intents.order(
                    Ask(
                        wanted=wanted,
                        author=author,
                        cause=cause,
                        replaces=self._followed(change, wanted),
                    )
                )
            except Retryable:
                raise
            except ControlPlaneError as error:
                return await self._step(change, ChangeEvent.PAUSE, error.message)
            change = await self._kept(with_intent(change, intent.id))
        return await self._kept(replace(change, entered=True))

    def _made(self, cause: str) -> Intent | None:
        """The intent that was made for this before the process died."""
        known = self._parts.intents.known.values()
        return next((one for one in known if one.cause == cause and one.standing), None)

    def _unknown(self, change: Change) -> list[str]:
        """Intents that were made, and that the change was not stored with."""
        cause, made = _cause_of(change), set(change.made)
        known = self._parts.intents.known.values()
        found = [one for one in known if one.cause.startswith(cause) and one.id not in made]
        return [one.id for one in sorted(found, key=lambda one: one.number)]

    def _followed(self, change: Change, wanted: Wanted) -> frozenset[str]:
        """Intents of earlier stages that ask the same of the same target: this one follows."""
        known = self._parts.intents.known
        earlier = (known[one] for one in change.made if one in known)
        return frozenset(
            one.id
            for one in earlier
            if one.standing and one.kind is wanted.kind and one.target == wanted.target
        )

    def _published(self, change: Change) -> int:
        """Revision that has all intents of the newest stage; 0 while one is not published."""
        known = self._parts.intents.known
        made = [known[one] for one in change.intents[-1] if one in known]
        if any(one.published == 0 for one in made):
            return 0
        current = self._parts.sources.publication.current
        now = 0 if current is None else current.revision
        return max((one.published for one in made), default=now)

    async def _step(self, change: Change, event: ChangeEvent, words: str) -> Change:
        """Move by itself: told in the audit log as the change's own doing."""
        moved = advanced(change, event, self._now(), words)
        await self._told(change, event, f"change/{change.name}", words)
        return await self._kept(moved)

    async def _kept(self, change: Change) -> Change:
        before = self._parts.changes.all.get(change.name)
        kept = await self._parts.changes.keep(change)
        if before is None or before.state is not kept.state or before.stage != kept.stage:
            log.info("change.moved", change=kept.name, state=kept.state, stage=kept.stage)
            if kept.final:
                self.ended[kept.state] += 1
                self._verdicts.pop(kept.name, None)
        return kept

    async def _told(self, change: Change, event: ChangeEvent, author: str, reason: str) -> None:
        await self._parts.audit.append(
            AuditEntry(
                time_s=self._now(),
                author=author,
                action=f"change.{event}",
                subject=change.subject,
                reason=reason,
                before=f"{change.state} stage {change.stage}",
            )
        )

    def _report(self) -> None:
        """A change that holds or pauses waits for somebody: that is a finding."""
        held = [
            _held(one, one.words)
            for one in self._parts.changes.all.values()
            if one.state is ChangeState.PAUSED
        ]
        held += [
            _held(self._parts.changes.all[name], found.reason)
            for name, found in self._verdicts.items()
            if found.word is Word.HOLD and name in self._parts.changes.all
        ]
        self._findings.report(Source.CHANGES, held)


def _cause_of(change: Change) -> str:
    """Beginning of what its intents name as their cause."""
    # With its time: a later change of the same name must not take them for its own.
    return f"change/{change.name}@{round(change.created_s * 1000)}/"


def _held(change: Change, words: str) -> Observation:
    way, other = ("advance", "resume") if change.entered else ("resume", "skip")
    return Observation(
        code="change_held",
        subject=change.subject,
        message=f"change {change.name} is {change.state} at stage {change.stage}: {words}; "
        f"look, then {way}, {other} or abort it",
        held=f"change {change.name} at its stage",
        force=f"signalbox changes {way} {change.name}",
    )
