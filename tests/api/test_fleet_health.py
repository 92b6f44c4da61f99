"""Health checks and the all-down policy in a fleet document."""

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.errors import Invalid
from controlplane.domain.services import AllDown, CheckKind, HealthCheck

TEXT = """
datacenters: [{name: east, role: primary, region: r1}]
services:
  - name: shop
    clusters:
      - {datacenter: east, capacity_rps: 10, endpoints: [{address: 10.0.0.1, port: 80}]}
"""


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("{kind: http, path: /hc}", HealthCheck(path="/hc")),
        ("{kind: tcp, interval_ms: 500}", HealthCheck(kind=CheckKind.TCP, interval_ms=500)),
        ("{kind: command, command: ping}", HealthCheck(kind=CheckKind.COMMAND, command="ping")),
    ],
)
def test_each_kind_of_check_goes_round(check: str, expected: HealthCheck) -> None:
    fleet = parse(f"{TEXT}    health_check: {check}\n    all_down: closed\n")
    (service,) = fleet.services
    assert (service.health_check, service.all_down) == (expected, AllDown.CLOSED)
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("health_check: {kind: command}", "a command beside kind"),
        ("health_check: {command: ping}", "a command beside kind: command only"),
        ("health_check: {kind: tcp, path: /hc}", "a path beside kind: http only"),
        ("health_check: {kind: icmp}", "one of"),
        ("all_down: never", "one of"),
    ],
)
def test_what_cannot_be_meant_is_told(line: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(f"{TEXT}    {line}\n")
    assert words in str(caught.value.details["errors"])


def test_without_a_word_all_down_holds() -> None:
    assert parse(TEXT).services[0].all_down is AllDown.HOLD
