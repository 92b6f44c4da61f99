"""What is counted and written of decisions."""

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.policy import Mode, PolicyKind
from controlplane.domain.routing.matching.request import Request
from gateway.admission.watching import MOST_LINES, CountsAndLines, Said

ASKED = Asked(
    request=Request(path="/seats" * 100, host="a.example", source="203.0.113.7"),
    now_s=0.0,
    route="seats",
)
DECISION = Decision(
    verdict=Verdict.REFUSE,
    reason="too_many",
    policy="limit",
    status=429,
    details={"limit": 10, "counted": 11},
)


def said(decision: Decision = DECISION, fell_back: str = "") -> Said:
    return Said(
        policy="limit",
        kind=PolicyKind.PROTECTION,
        mode=Mode.ENFORCE,
        decision=decision,
        fell_back=fell_back,
    )


def test_a_refusal_is_one_line_that_explains_itself() -> None:
    watcher = CountsAndLines(CollectorRegistry())
    with capture_logs() as lines:
        watcher.decided(said(), ASKED)
        watcher.decided(said(ADMITTED), ASKED)
    (line,) = lines
    assert (line["policy"], line["reason"], line["status"]) == ("limit", "too_many", 429)
    assert (line["why_limit"], line["why_counted"]) == (10, 11)
    assert (line["source"], line["host"]) == ("203.0.113.7", "a.example")
    assert len(line["path"]) == 200


def test_everything_is_counted() -> None:
    registry = CollectorRegistry()
    watcher = CountsAndLines(registry)
    for decision in (DECISION, ADMITTED, DECISION):
        watcher.decided(said(decision, fell_back="out_of_time"), ASKED)
    labels = {"policy": "limit", "kind": "protection", "mode": "enforce"}
    refused = {**labels, "verdict": "refuse", "reason": "too_many"}
    assert registry.get_sample_value("signalbox_agent_decisions_total", refused) == 2
    fallen = {"policy": "limit", "cause": "out_of_time"}
    assert registry.get_sample_value("signalbox_agent_fallbacks_total", fallen) == 3


def test_a_wave_of_refusals_is_no_wave_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    second = [0.0]
    watcher = CountsAndLines(CollectorRegistry(), lambda: second[0])
    with capture_logs() as lines:
        for _ in range(MOST_LINES + 500):
            watcher.decided(said(), ASKED)
        second[0] = 1.5
        watcher.decided(said(), ASKED)
    assert len(lines) == MOST_LINES + 2
    assert lines[MOST_LINES]["event"] == "admission.more_refusals"
    assert lines[MOST_LINES]["count"] == 500
