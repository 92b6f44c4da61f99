"""The watch: what changed since the last look, into the journal and to the webhooks.

Level, not edge: it compares what stands with what it saw, so nobody has to report anything here,
and a look that comes late misses only what came and went between two.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.findings import Finding
from controlplane.domain.intents.intent import Intent
from controlplane.domain.operations.changes import Change
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.timeline import EntryKind
from controlplane.domain.operations.webhooks import EventKind
from controlplane.domain.snapshot import Section, Snapshot
from controlplane.engine.operations.intent_desk import IntentDesk
from controlplane.engine.operations.items import Items
from controlplane.engine.operations.journal import Journal
from controlplane.engine.operations.webhooks import Messenger
from controlplane.engine.publishing.couriers import Courier, DeliveryState, DeliveryStatus
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.stages import Instruments

log = structlog.get_logger(__name__)

LOOK_S = 0.25
# Splits that one entry names.
MOST_SPLITS = 20
# After a publication the consumers of each plane are asked this long who runs it.
RECEIPTS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchParts:
    """What is watched, and who is told."""

    intents: IntentDesk
    publication: Publication
    couriers: Sequence[Courier]
    changes: Items[Change]
    incidents: Items[Incident]
    journal: Journal
    messenger: Messenger


class Watch:
    """Compares and tells."""

    def __init__(self, parts: WatchParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._seen_changes = -1
        self._standing: dict[str, Finding] = {}
        self._intent_change = 0
        self._snapshot: Snapshot | None = None
        self._published_s = 0.0
        self._planes: dict[str, tuple[int, DeliveryState]] = {}
        self._nodes: dict[str, dict[str, int]] = {}
        self._changes: dict[str, tuple[str, int]] = {}
        self._incidents: dict[str, bool] = {}

    def begin(self) -> None:
        """What stands at the start is no news."""
        self._snapshot = self._parts.publication.current
        known = self._parts.intents.known.values()
        self._intent_change = max((one.change for one in known), default=0)
        self._changes = {name: _place(one) for name, one in self._parts.changes.all.items()}
        self._incidents = {
            name: one.closed_s is None for name, one in self._parts.incidents.all.items()
        }

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Tell what is new."""
        self._look_at_findings()
        self._look_at_intents()
        self._look_at_changes()
        self._look_at_incidents()
        self._look_at_snapshot()
        for courier in self._parts.couriers:
            self._look_at_plane(courier.status)
            if 0 <= self._now() - self._published_s < RECEIPTS_S:
                await self._look_at_nodes(courier)

    def _look_at_findings(self) -> None:
        if self._findings.changes == self._seen_changes:
            return
        self._seen_changes = self._findings.changes
        standing = {one.id: one for one in self._findings.standing()}
        for known_as, finding in standing.items():
            if known_as not in self._standing:
                self._finding(finding, EventKind.FINDING_APPEARED, "appeared")
        for known_as, finding in self._standing.items():
            if known_as not in standing:
                self._finding(finding, EventKind.FINDING_CLEARED, "cleared")
        self._standing = standing

    def _finding(self, finding: Finding, kind: EventKind, verb: str) -> None:
        what = finding.observation
        words = f"{what.code} {verb}: {what.message}"
        self._parts.journal.note(EntryKind.FINDING, what.subject, words, finding.source.value)
        self._parts.messenger.tell(
            kind,
            {
                "id": finding.id,
                "source": finding.source.value,
                "code": what.code,
                "subject": what.subject,
                "severity": what.severity.value,
                "message": what.message,
            },
        )

    def _look_at_intents(self) -> None:
        seen = self._intent_change
        news = [one for one in self._parts.intents.known.values() if one.change > seen]
        for intent in sorted(news, key=lambda one: one.change):
            self._intent_change = max(self._intent_change, intent.change)
            ending = "" if intent.ending is None else f" ({intent.ending})"
            words = f"{intent.kind} is {intent.state}{ending}: {intent.wanted.reason}"
            self._parts.journal.note(EntryKind.INTENT, intent.subject, words, intent.author)
            self._parts.messenger.tell(EventKind.INTENT_CHANGED, _intent(intent))

    def _look_at_changes(self) -> None:
        for name, change in self._parts.changes.all.items():
            place = _place(change)
            if self._changes.get(name) == place:
                continue
            self._changes[name] = place
            words = f"{change.title}: {change.state} at stage {change.stage}; {change.words}"
            self._parts.journal.note(EntryKind.CHANGE, change.subject, words, change.author)
            self._parts.messenger.tell(
                EventKind.CHANGE_CHANGED,
                {
                    "name": name,
                    "title": change.title,
                    "state": change.state.value,
                    "stage": change.stage,
                    "stages": len(change.stages),
                    "reason": change.words,
                },
            )

    def _look_at_incidents(self) -> None:
        for name, incident in self._parts.incidents.all.items():
            is_open = incident.closed_s is None
            if self._incidents.get(name, False) is is_open and name in self._incidents:
                continue
            self._incidents[name] = is_open
            kind = EventKind.INCIDENT_OPENED if is_open else EventKind.INCIDENT_CLOSED
            self._parts.messenger.tell(kind, {"name": name, "title": incident.title})

    def _look_at_snapshot(self) -> None:
        current = self._parts.publication.current
        if current is None or current is self._snapshot:
            return
        before, self._snapshot = self._snapshot, current
        self._published_s = self._now()
        words = "; ".join(differences(before, current)) or "nothing of splits or sections"
        self._parts.journal.note(
            EntryKind.SNAPSHOT,
            f"revision/{current.revision}",
            f"published as version {current.version[:12]}: {words}",
            "signalbox",
        )

    def _look_at_plane(self, status: DeliveryStatus) -> None:
        place = (status.revision, status.state)
        if status.revision == 0 or self._planes.get(status.plane) == place:
            return
        self._planes[status.plane] = place
        words = f"revision {status.revision} is {status.state}"
        if status.message:
            words = f"{words}: {status.message}"
        self._parts.journal.note(EntryKind.PLANE, f"plane/{status.plane}", words, status.plane)

    async def _look_at_nodes(self, courier: Courier) -> None:
        plane = courier.status.plane
        try:
            nodes = await courier.nodes()
        except (Rejected, Retryable) as error:
            log.info("watch.no_receipts", plane=plane, reason=error.message)
            return
        # Names come from callers: who is gone is forgotten, and news when it comes again.
        before, now = self._nodes.get(plane, {}), {one.name: one.revision for one in nodes}
        self._nodes[plane] = now
        for node in nodes:
            if before.get(node.name) == node.revision:
                continue
            self._parts.journal.note(
                EntryKind.PLANE,
                f"plane/{plane} node/{node.name}",
                f"runs revision {node.revision}",
                node.name,
            )


def differences(before: Snapshot | None, after: Snapshot) -> list[str]:
    """What changed where, in words: splits first, then other sections."""
    earlier = _splits(before)
    words = [
        f"{place}: {_split(earlier.get(place, {}))} -> {_split(split)}"
        for place, split in _splits(after).items()
        if earlier.get(place) != split
    ]
    if len(words) > MOST_SPLITS:
        words = [*words[:MOST_SPLITS], f"and {len(words) - MOST_SPLITS} other splits"]
    digests = {} if before is None else before.digests
    sections = [name for name, digest in after.digests.items() if digests.get(name) != digest]
    others = [name for name in sections if name is not Section.WEIGHTS]
    return [*words, f"changed: {', '.join(others)}"] if others else words


def _splits(snapshot: Snapshot | None) -> dict[str, Mapping[str, int]]:
    rows = () if snapshot is None else snapshot.content.weights.weights
    return {
        one.service if one.source_region == "*" else f"{one.service} from {one.source_region}": (
            one.weights
        )
        for one in rows
    }


def _split(weights: Mapping[str, int]) -> str:
    return " ".join(f"{name}={weight}" for name, weight in sorted(weights.items())) or "none"


def _place(change: Change) -> tuple[str, int]:
    return change.state.value, change.stage


def _intent(intent: Intent) -> dict[str, object]:
    return {
        "id": intent.id,
        "kind": intent.kind.value,
        "target": intent.target.subject,
        "state": intent.state.value,
        "ending": None if intent.ending is None else intent.ending.value,
        "author": intent.author,
        "reason": intent.wanted.reason,
        "cause": intent.cause,
        "revision": intent.published,
    }
