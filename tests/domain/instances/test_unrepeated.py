"""Planes that pass on errors of a service say so where it wants them tried again."""

from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.instances.unrepeated import unrepeated
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
