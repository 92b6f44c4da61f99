"""Incidents: from when to when something was wrong, so that a timeline has a beginning and an end.

One is open at a time: what breaks together is looked at together. It opens by itself with the first
cause and closes when all causes have been over for a while; people open, name and close them, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from controlplane.domain.errors import Conflict
from controlplane.domain.findings import Finding, Severity
from controlplane.domain.intents.intent import Intent, IntentKind
from controlplane.domain.operations.episodes import Episode

# What began shortly before the first cause belongs to it: the metrics that led to the alarm.
LEAD_S = 300.0
# So long all causes are over before it closes by itself.
QUIET_S = 300.0
# Intents that somebody only makes when something is wrong, or might be.
EMERGENCY = frozenset({IntentKind.FAILOVER, IntentKind.PRESET, IntentKind.ROLLBACK})


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One incident.

    Attributes:
        name: `incident-<number>`.
        opened_s: of its first cause; closed_s: None while it is open.
        stirred_s: when a cause of it stood last.
        by_hand: opened by a person, so only a person closes it.
    """

    name: str
    title: str
    author: str
    opened_s: float
    stirred_s: float
    closed_s: float | None = None
    by_hand: bool = False

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"incident/{self.name}"

    def span_s(self, now_s: float) -> tuple[float, float]:
        """From when to when its timeline reads."""
        return self.opened_s - LEAD_S, now_s if self.closed_s is None else self.closed_s


def causes(
    episodes: Iterable[Episode], findings: Iterable[Finding], intents: Iterable[Intent]
) -> list[tuple[float, str]]:
    """What is wrong now, as (since when, title), the oldest first."""
    found = [(one.began_s, f"alerts on {one.target}") for one in episodes]
    found += [
        (one.since_s, f"{one.observation.code} on {one.observation.subject}")
        for one in findings
        if one.standing and one.observation.severity is Severity.CRITICAL
    ]
    found += [
        (one.created_s, f"{one.kind} of {one.target.subject}")
        for one in intents
        if one.standing and one.kind in EMERGENCY
    ]
    return sorted(found)


def stirred(incident: Incident, now_s: float, *, wrong: bool) -> Incident:
    """The open incident after a look: it goes on, or has been quiet for long and closes."""
    if wrong:
        return replace(incident, stirred_s=now_s)
    # Either way: a clock that was set back keeps nothing open for that long.
    if incident.by_hand or abs(now_s - incident.stirred_s) < QUIET_S:
        return incident
    return replace(incident, closed_s=now_s)


def closed(incident: Incident, now_s: float) -> Incident:
    """The incident, closed by a person; Conflict when it is closed."""
    if incident.closed_s is not None:
        raise Conflict("incident_closed", f"incident {incident.name} is closed already")
    return replace(incident, closed_s=now_s)
