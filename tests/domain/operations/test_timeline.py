"""The timeline of an incident, and when an incident opens and closes."""

from dataclasses import replace

import pytest

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict
from controlplane.domain.findings import Finding, Observation, Severity, Source
from controlplane.domain.intents.intent import IntentKind, IntentState, Target, Wanted
from controlplane.domain.operations.episodes import Episode
from controlplane.domain.operations.incidents import (
    LEAD_S,
    QUIET_S,
    Incident,
    causes,
    closed,
    stirred,
)
from controlplane.domain.operations.timeline import Entry, EntryKind, merged, of_audit, of_decision
from controlplane.domain.operations.timeline_export import markdown
from tests.domain.decided import decided
from tests.domain.operations.made import intent
from tests.domain.two_centers import law_model

WANTED = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east"))
INCIDENT = Incident(name="incident-1", title="A|B", author="x", opened_s=1_000.0, stirred_s=1_000.0)


def entry(time_s: float, kind: EntryKind, number: int = 0) -> Entry:
    return Entry(time_s=time_s, kind=kind, subject="s", what="w", number=number)


def test_causes_stand_before_consequences() -> None:
    snapshot, alert = entry(1.0, EntryKind.SNAPSHOT), entry(1.0, EntryKind.ALERT)
    early, late = entry(0.0, EntryKind.PLANE, 2), entry(0.0, EntryKind.PLANE, 9)
    assert merged([snapshot, late, alert, early]) == (early, late, alert, snapshot)


def test_a_write_says_who_did_what_and_why() -> None:
    write = AuditEntry(time_s=1.0, author="anna", action="intent.apply", subject="intent/drain-1")
    assert of_audit(write).what == "intent.apply"
    found = of_audit(replace(write, after="active", reason="works"))
    assert (found.who, found.what) == ("anna", "intent.apply -> active (works)")


def test_a_decision_says_what_it_decided() -> None:
    decision = decided(law_model())
    found = of_decision(decision)
    assert found.kind is EntryKind.DECISION
    assert found.subject == f"service/tickets decision/{decision.id}"
    assert found.what.startswith(f"{decision.outcome} by timer: {decision.centers[0]} 0.")


def test_what_opens_an_incident() -> None:
    episode = Episode(target="datacenter/east", policy="p", wanted=WANTED, began_s=5.0, heard_s=5.0)
    critical = Finding(
        id="f",
        source=Source.STORE,
        observation=Observation(
            code="store_away", subject="store", message="m", severity=Severity.CRITICAL
        ),
        since_s=3.0,
        seen_s=3.0,
    )
    mild = replace(critical, observation=replace(critical.observation, severity=Severity.WARNING))
    standing = intent(WANTED, "anna", created_s=4.0)
    over = replace(standing, state=IntentState.ENDED)
    planned = intent(replace(WANTED, kind=IntentKind.DRAIN))
    findings = [critical, mild, replace(critical, cleared_s=4.0)]
    assert causes([episode], findings, [standing, over, planned]) == [
        (3.0, "store_away on store"),
        (4.0, "failover of datacenter/east"),
        (5.0, "alerts on datacenter/east"),
    ]


def test_it_closes_when_it_has_been_quiet() -> None:
    assert stirred(INCIDENT, 1_000.0 - 3_600.0, wrong=False).closed_s == -2_600.0
    busy = stirred(INCIDENT, 1_500.0, wrong=True)
    assert (busy.stirred_s, busy.closed_s) == (1_500.0, None)
    assert stirred(busy, 1_500.0 + QUIET_S - 1, wrong=False) == busy
    assert stirred(busy, 1_500.0 + QUIET_S, wrong=False).closed_s == 1_500.0 + QUIET_S
    by_hand = replace(busy, by_hand=True)
    assert stirred(by_hand, 9_999.0, wrong=False) == by_hand


def test_a_person_closes_it_once() -> None:
    over = closed(INCIDENT, 1_100.0)
    assert over.closed_s == 1_100.0
    with pytest.raises(Conflict, match="closed already"):
        closed(over, 1_200.0)


def test_its_timeline_begins_before_it() -> None:
    assert INCIDENT.span_s(1_200.0) == (1_000.0 - LEAD_S, 1_200.0)
    assert closed(INCIDENT, 1_100.0).span_s(1_200.0) == (1_000.0 - LEAD_S, 1_100.0)
    assert INCIDENT.subject == "incident/incident-1"


def test_markdown_shows_words_as_words() -> None:
    odd = Entry(time_s=1.0, kind=EntryKind.NOTE, subject="s", what="a|*b*\n<i>", who="bob")
    text = markdown(INCIDENT, [entry(0.0, EntryKind.ALERT), odd], lambda time_s: f"t{time_s:g}")
    assert "# A\\|B" in text
    assert "- closed: still open" in text
    assert "| t0 | alert: w | s | - |" in text
    assert "| t1 | note: a\\|\\*b\\* \\<i\\> | s | bob |" in text
    over = markdown(closed(INCIDENT, 1_100.0), [], lambda time_s: f"t{time_s:g}")
    assert "- closed: t1100" in over
