"""Planes say so where they do less about retries than a service wants."""

from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.instances.unrepeated import unbudgeted, unrepeated
from controlplane.domain.services import RetryPolicy
from tests.builders import fleet


def test_only_services_that_ask_for_it_are_told() -> None:
    shares = {"tickets": {"beijing-1": 1.0}}
    (service,) = build(fleet(), shares).content.endpoints.services
    assert list(unrepeated([service], "Caddy")) == []
    sure = replace(service, retry=RetryPolicy(server_errors=True))
    (note,) = unrepeated([sure], "Caddy")
    assert (note.code, note.subject) == ("retry_not_expressible", "service/tickets")
    assert "Caddy" in note.message


def test_only_services_with_a_budget_are_told() -> None:
    (service,) = build(fleet(), {"tickets": {"beijing-1": 1.0}}).content.endpoints.services
    assert list(unbudgeted([service], "nginx")) == []
    saving = replace(service, retry=RetryPolicy(budget=0.2))
    (note,) = unbudgeted([saving], "nginx")
    assert (note.code, note.subject) == ("retry_budget_not_expressible", "service/tickets")
    assert "12 times" in note.held
