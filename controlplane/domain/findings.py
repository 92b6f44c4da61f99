"""Findings: what is wrong with one item, what was held because of it, and how to force it.

One bad item is one finding; everything else goes on. Whoever judges an item makes `Observation`s;
`engine.findings` gives them their history. Read by the API, the metrics and the console.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who found it."""

    METRICS = "metrics"
    METRIC_SOURCE = "metric-source"
    FLEET = "fleet"
    LOOP = "loop"
    DATA_PLANE = "data-plane"
    STORE = "store"
    MODELS = "models"
    JOBS = "jobs"
    HEALTH = "health"
    ALERTS = "alerts"
    CHANGES = "changes"
    WEBHOOKS = "webhooks"
    INTENTS = "intents"


class Severity(StrEnum):
    """How soon somebody should look."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is wrong with one item now.

    Attributes:
        code: stable identifier in snake case, one row in docs/findings.md.
        subject: the item, as `kind/name` words: `service/shop datacenter/dc-east`, `route/r7`.
        message: what, where, against which limit, and what to do.
        held: what stays as it was because of this; "" when nothing does.
        force: how to have it against the judgment; "" when there is no way.
    """

    code: str
    subject: str
    message: str
    held: str = ""
    force: str = ""
    severity: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An observation with its history.

    Attributes:
        id: the same trouble with the same item has the same id, also after a restart.
        since_s: when it appeared, UTC epoch seconds; `seen_s`: when it was last reported.
        reports: how often it was reported since it appeared.
        cleared_s: when it was over; None while it stands.
    """

    id: str
    source: Source
    observation: Observation
    since_s: float
    seen_s: float
    reports: int = 1
    cleared_s: float | None = None

    @property
    def standing(self) -> bool:
        """Whether it is still so."""
        return self.cleared_s is None


def finding_id(source: Source, scope: str, observation: Observation) -> str:
    """16 hex digits from who found what with which item."""
    words = "\n".join((source, scope, observation.code, observation.subject))
    return hashlib.sha256(words.encode()).hexdigest()[:16]
