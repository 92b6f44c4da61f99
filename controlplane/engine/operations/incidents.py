"""Incidents: opened by what is wrong, closed when it has been quiet, read as one timeline.

The timeline of an incident is made when it is asked for, from what is stored anyway: the journal,
the audit log and the decisions.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from controlplane.domain.access import Principal
from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Conflict, Retryable
from controlplane.domain.operations.episodes import Episode
from controlplane.domain.operations.incidents import Incident, causes, closed, stirred
from controlplane.domain.operations.timeline import (
    Entry,
    EntryKind,
    merged,
    of_audit,
    of_decision,
)
from controlplane.engine.operations.intent_desk import IntentDesk
from controlplane.engine.operations.items import Items, Written
from controlplane.engine.operations.journal import Journal
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import AuditLog, DecisionStore

log = structlog.get_logger(__name__)

LOOK_S = 1.0
# The state of an open incident is stored this often.
STORE_S = 30.0
# Of each source; a longer timeline says that it was cut.
MOST_ENTRIES = 5_000
PAGE = 500
INCIDENTS_KEPT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentParts:
    """What incidents read and write.

    Attributes:
        episodes: those of alerts that stand.
    """

    incidents: Items[Incident]
    journal: Journal
    audit: AuditLog
    decisions: DecisionStore
    intents: IntentDesk
    episodes: Callable[[], Iterable[Episode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What happened in an incident; `cut` when there was more than is shown."""

    incident: Incident
    entries: tuple[Entry, ...]
    cut: bool = False


class Incidents:
    """Opens, closes, tells."""

    def __init__(self, parts: IncidentParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._acting = asyncio.Lock()
        self._stored_s = 0.0

    @property
    def all(self) -> list[Incident]:
        """The latest first."""
        found = self._parts.incidents.all.values()
        return sorted(found, key=lambda one: (one.opened_s, one.name), reverse=True)

    @property
    def open(self) -> Incident | None:
        """The one that is open."""
        return next((one for one in self.all if one.closed_s is None), None)

    def named(self, name: str) -> Incident:
        """One of them; NotFound."""
        return self._parts.incidents.named(name)

    async def begin(self, title: str, author: Principal) -> Incident:
        """Open one by hand; Conflict while one is open."""
        async with self._acting:
            if (found := self.open) is not None:
                raise Conflict(
                    "incident_open",
                    f"incident {found.name} is open: note on it, or close it first",
                    {"incident": found.name},
                )
            now_s = self._now()
            incident = self._made(title, author.name, now_s, by_hand=True)
            return await self._parts.incidents.put(incident, Written(author=author), new=True)

    async def close(self, name: str, author: Principal, reason: str) -> Incident:
        """Close one by hand; Conflict when it is closed."""
        async with self._acting:
            incident = closed(self.named(name), self._now())
            written = Written(author=author, reason=reason)
            return await self._parts.incidents.put(incident, written)

    def note(self, name: str, words: str, author: Principal) -> None:
        """Write into its timeline, now; NotFound."""
        incident = self.named(name)
        self._parts.journal.note(EntryKind.NOTE, incident.subject, words, author.name)

    async def timeline(self, name: str) -> Timeline:
        """All of it that is known."""
        incident = self.named(name)
        since_s, until_s = incident.span_s(self._now())
        found = await self._parts.journal.between(since_s, until_s, MOST_ENTRIES)
        writes = await self._writes(since_s, until_s)
        decisions = await self._decisions(since_s, until_s)
        entries = merged([*found, *writes, *decisions])
        longest = max(len(found), len(writes), len(decisions))
        return Timeline(incident=incident, entries=entries, cut=longest >= MOST_ENTRIES)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Open or close by what is wrong now; tried again while the store is away."""
        async with self._acting:
            try:
                await self._look()
            except Retryable as error:
                log.info("incidents.store_away", reason=error.message)

    async def _look(self) -> None:
        now_s = self._now()
        wrong = causes(
            self._parts.episodes(),
            self._findings.standing(),
            self._parts.intents.known.values(),
        )
        before = self.open
        if before is None:
            if wrong:
                since_s, title = wrong[0]
                incident = self._made(title, "signalbox", max(since_s, self._over_s()))
                await self._parts.incidents.keep(incident)
                await self._trim()
                self._told(incident, f"opened: {title}")
            return
        after = stirred(before, now_s, wrong=bool(wrong))
        if after.closed_s is not None or not 0 <= now_s - self._stored_s < STORE_S:
            await self._parts.incidents.keep(after)
            self._stored_s = now_s
        if after.closed_s is not None:
            self._told(after, "closed: nothing is wrong any more")

    def _over_s(self) -> float:
        """When the newest one was closed: what was wrong before belongs to that."""
        return max((one.closed_s or 0.0 for one in self.all), default=0.0)

    def _told(self, incident: Incident, words: str) -> None:
        self._parts.journal.note(EntryKind.INCIDENT, incident.subject, words, incident.author)
        log.info("incident.moved", incident=incident.name, words=words)

    def _made(self, title: str, author: str, opened_s: float, *, by_hand: bool = False) -> Incident:
        return Incident(
            name=f"incident-{round(self._now() * 1000)}",
            title=title,
            author=author,
            opened_s=opened_s,
            stirred_s=self._now(),
            by_hand=by_hand,
        )

    async def _trim(self) -> None:
        for old in self.all[INCIDENTS_KEPT:]:
            await self._parts.incidents.forget(old.name)

    async def _writes(self, since_s: float, until_s: float) -> list[Entry]:
        """Writes within, the latest first; the log has them by number, which is by time."""
        found: list[Entry] = []
        before: int | None = None
        while len(found) < MOST_ENTRIES:
            page = await self._parts.audit.recent(PAGE, before)
            found += [of_audit(one) for one in page if since_s <= one.time_s <= until_s]
            if len(page) < PAGE or page[-1].time_s < since_s:
                break
            before = page[-1].number
        return found

    async def _decisions(self, since_s: float, until_s: float) -> list[Entry]:
        found: list[Decision] = []
        after: tuple[float, str] | None = (until_s, "\U0010ffff")
        while len(found) < MOST_ENTRIES:
            page = await self._parts.decisions.recent(None, PAGE, after)
            found += [one for one in page if one.time_s >= since_s]
            if len(page) < PAGE or page[-1].time_s < since_s:
                break
            after = (page[-1].time_s, page[-1].id)
        return [of_decision(one) for one in found]
