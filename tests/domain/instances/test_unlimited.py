"""Planes that cannot limit a service say so while one is limited."""

from dataclasses import replace

from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.instances.unlimited import unlearned, unlimited
from controlplane.domain.snapshot import ServiceLimit
from tests.builders import fleet


def test_only_limited_services_are_told() -> None:
    shares = {"tickets": {"beijing-1": 1.0}}
    (service,) = build(fleet(), shares).content.endpoints.services
    assert list(unlimited([service], "Caddy")) == []
    (note,) = unlimited([replace(service, limit=ServiceLimit(concurrent=3))], "Caddy")
    assert (note.code, note.subject) == ("limit_not_expressible", "service/tickets")
    assert "Caddy" in note.message


def test_planes_that_keep_declared_limits_only_tell_of_learned_ones() -> None:
    (service,) = build(fleet(), {"tickets": {"beijing-1": 1.0}}).content.endpoints.services
    declared = replace(service, limit=ServiceLimit(concurrent=3))
    assert list(unlearned([service, declared], "nginx")) == []
    learned = ServiceLimit(adaptive=AdaptiveConcurrencyPolicy(least_ms=20.0))
    (note,) = unlearned([replace(service, limit=learned)], "nginx")
    assert (note.code, note.subject) == ("limit_not_expressible", "service/tickets")
    assert "nginx" in note.message
