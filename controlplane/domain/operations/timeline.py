"""The timeline: what happened, who did what, what changed where, in one order.

Entries come from the journal (alerts, findings, intents, publications, receipts of data planes),
from the audit log and from decisions; `engine.operations.incidents` collects them. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.access import AuditEntry
from controlplane.domain.decisions import Decision


class EntryKind(StrEnum):
    """Where an entry comes from; also the order of what happened at the same time."""

    ALERT = "alert"
    FINDING = "finding"
    INCIDENT = "incident"
    NOTE = "note"
    AUDIT = "audit"
    CHANGE = "change"
    INTENT = "intent"
    DECISION = "decision"
    SNAPSHOT = "snapshot"
    PLANE = "plane"


_ORDER = {kind: place for place, kind in enumerate(EntryKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened.

    Attributes:
        time_s: UTC epoch seconds.
        subject: the item, as `kind/name` words.
        who: a token's name, `health`, `policy/NAME`, a plane; "" is nobody.
        what: one line.
        number: its place in the journal, given by the store; 0 for what stands elsewhere.
    """

    time_s: float
    kind: EntryKind
    subject: str
    what: str
    who: str = ""
    number: int = 0


def of_audit(entry: AuditEntry) -> Entry:
    """A write as an entry."""
    words = [entry.action]
    if entry.after:
        words.append(f"-> {entry.after}")
    if entry.reason:
        words.append(f"({entry.reason})")
    return Entry(
        time_s=entry.time_s,
        kind=EntryKind.AUDIT,
        subject=entry.subject,
        who=entry.author,
        what=" ".join(words),
    )


def of_decision(decision: Decision) -> Entry:
    """A decision as an entry."""
    split = ", ".join(f"{name} {share:.3f}" for name, share in split_words(decision))
    return Entry(
        time_s=decision.time_s,
        kind=EntryKind.DECISION,
        subject=f"service/{decision.service} decision/{decision.id}",
        who="scheduler",
        what=f"{decision.outcome} by {decision.trigger}: {split}",
    )


def split_words(decision: Decision) -> list[tuple[str, float]]:
    """Data centres with what was decided for them."""
    return list(zip(decision.centers, decision.decided, strict=True))


def merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """All entries by time; at one time causes before consequences."""
    return tuple(
        sorted(entries, key=lambda one: (one.time_s, _ORDER[one.kind], one.number, one.subject))
    )
