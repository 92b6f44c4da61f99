"""The register of findings: level in, history out."""

import pytest
from structlog.testing import capture_logs

from controlplane.domain.errors import NotFound
from controlplane.domain.findings import Observation, Source
from controlplane.engine import findings as module
from controlplane.engine.findings import Findings
from tests.engine.rig import START_S, Clock

FROZEN = Observation(code="metrics_frozen", subject="service/shop datacenter/east", message="same")
STALE = Observation(code="metrics_stopped", subject="service/shop datacenter/west", message="old")


def _register() -> tuple[Findings, Clock]:
    clock = Clock()
    return Findings(clock.now), clock


def test_what_is_reported_again_stands_and_what_is_not_has_cleared() -> None:
    register, clock = _register()
    (first,) = register.report(Source.METRICS, [FROZEN])
    clock.time_s += 60
    (second,) = register.report(Source.METRICS, [FROZEN, STALE])
    assert second.observation == STALE
    stood, _ = register.standing()
    assert (stood.id, stood.since_s, stood.seen_s) == (first.id, START_S, START_S + 60)
    assert (stood.reports, stood.standing) == (2, True)
    clock.time_s += 60
    assert register.report(Source.METRICS, [STALE]) == ()
    (over,) = register.cleared()
    assert (over.id, over.cleared_s, over.standing) == (first.id, START_S + 120, False)
    assert register.by_id(first.id) == over
    assert [finding.observation for finding in register.standing()] == [STALE]
    assert register.appeared == {Source.METRICS: 2}


def test_a_message_with_other_numbers_is_the_same_finding() -> None:
    register, _ = _register()
    (first,) = register.report(Source.METRICS, [FROZEN])
    again = Observation(code=FROZEN.code, subject=FROZEN.subject, message="for 6 periods")
    assert register.report(Source.METRICS, [again]) == ()
    assert register.by_id(first.id).observation.message == "for 6 periods"


def test_scopes_and_sources_clear_their_own_findings_only() -> None:
    register, _ = _register()
    register.report(Source.METRICS, [FROZEN], scope="shop")
    register.report(Source.METRICS, [STALE], scope="orders")
    register.report(Source.FLEET, [STALE])
    register.report(Source.METRICS, [], scope="shop")
    assert [(one.source, one.observation.code) for one in register.standing()] == [
        (Source.FLEET, "metrics_stopped"),
        (Source.METRICS, "metrics_stopped"),
    ]


def test_what_was_not_tried_stands() -> None:
    register, _ = _register()
    register.report(Source.LOOP, [FROZEN, STALE])
    register.report(Source.LOOP, [], untried={FROZEN.subject})
    assert [one.observation for one in register.standing()] == [FROZEN]


def test_one_that_comes_back_has_the_same_id_and_is_no_longer_over() -> None:
    register, clock = _register()
    (first,) = register.report(Source.METRICS, [FROZEN])
    register.report(Source.METRICS, [])
    clock.time_s += 5
    (back,) = register.report(Source.METRICS, [FROZEN])
    assert (back.id, back.since_s, back.reports) == (first.id, START_S + 5, 1)
    assert register.cleared() == []
    assert register.changes == 3


def test_the_end_and_the_beginning_are_logged_once() -> None:
    register, _ = _register()
    with capture_logs() as logs:
        for _ in range(3):
            register.report(Source.METRICS, [FROZEN])
        register.report(Source.METRICS, [])
    assert [entry["event"] for entry in logs] == ["finding.appeared", "finding.cleared"]


def test_the_oldest_of_those_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLEARED_KEPT", 2)
    register, _ = _register()
    for number in range(4):
        one = Observation(code="c", subject=f"route/r{number}", message="")
        (gone,) = register.report(Source.DATA_PLANE, [one])
        register.report(Source.DATA_PLANE, [])
    assert [one.observation.subject for one in register.cleared()] == ["route/r3", "route/r2"]
    assert register.by_id(gone.id).observation.subject == "route/r3"
    with pytest.raises(NotFound, match="no finding has the id"):
        register.by_id("0" * 16)
