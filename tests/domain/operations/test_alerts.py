"""Alerts, and findings in their shape."""

from dataclasses import replace

from controlplane.domain.findings import Finding, Observation, Severity, Source
from controlplane.domain.operations.alerts import (
    Alert,
    AlertStatus,
    Origin,
    alert_of,
    fingerprint_of,
)

FINDING = Finding(
    id="abc",
    source=Source.METRICS,
    observation=Observation(
        code="metrics_stopped",
        subject="service/shop datacenter/east fleet",
        message="nothing comes",
        severity=Severity.CRITICAL,
    ),
    since_s=5.0,
    seen_s=6.0,
)


def test_a_finding_is_an_alert_with_its_subject_as_labels() -> None:
    assert alert_of(FINDING) == Alert(
        origin=Origin.FINDINGS,
        status=AlertStatus.FIRING,
        labels={
            "alertname": "metrics_stopped",
            "severity": "critical",
            "source": "metrics",
            "service": "shop",
            "datacenter": "east",
        },
        fingerprint="abc",
        starts_s=5.0,
        summary="nothing comes",
    )
    assert alert_of(FINDING).name == "metrics_stopped"


def test_one_that_is_over_is_resolved() -> None:
    assert alert_of(replace(FINDING, cleared_s=9.0)).status is AlertStatus.RESOLVED


def test_a_fingerprint_is_of_the_labels_alone() -> None:
    one = fingerprint_of({"a": "1", "b": "2"})
    assert one == fingerprint_of({"b": "2", "a": "1"})
    assert one != fingerprint_of({"a": "1", "b": "3"})
    assert len(one) == 16
