"""Alerts: what Alertmanager tells us, and our own findings in the same shape.

Both are labels with a state, so that one kind of policy serves both. Read from the wire by the
API; matched by `alert_policies`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.findings import Finding


class Origin(StrEnum):
    """Who says so: a policy listens to one of them, so an alert cannot pass for a finding."""

    ALERTMANAGER = "alertmanager"
    FINDINGS = "findings"


class AlertStatus(StrEnum):
    """Alertmanager's two states of an alert."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert as its sender saw it.

    Attributes:
        fingerprint: the same trouble has the same one, also when it fires again.
        starts_s: since when it fires, UTC epoch seconds.
        summary: its own words, for people.
    """

    origin: Origin
    status: AlertStatus
    labels: Mapping[str, str]
    fingerprint: str
    starts_s: float
    summary: str = ""

    @property
    def name(self) -> str:
        """What it is called, "" when it has no name."""
        return self.labels.get("alertname", "")


def fingerprint_of(labels: Mapping[str, str]) -> str:
    """16 hex digits from the labels, for a sender that gives none."""
    words = "\n".join(f"{name}\0{value}" for name, value in sorted(labels.items()))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def alert_of(finding: Finding) -> Alert:
    """A finding as an alert: its code is the name, each `kind/name` word of its subject a label."""
    what = finding.observation
    words = (word.partition("/") for word in what.subject.split())
    labels = {kind: name for kind, sign, name in words if sign}
    return Alert(
        origin=Origin.FINDINGS,
        status=AlertStatus.FIRING if finding.standing else AlertStatus.RESOLVED,
        labels={
            **labels,
            "alertname": what.code,
            "severity": what.severity.value,
            "source": finding.source.value,
        },
        fingerprint=finding.id,
        starts_s=finding.since_s,
        summary=what.message,
    )
