"""Planes whose files do not ask the agent of their group say so."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from controlplane.adapters.caddy.render import CaddyOptions
from controlplane.adapters.caddy.render import render as caddy
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx
from controlplane.adapters.traefik.render import TraefikOptions
from controlplane.adapters.traefik.render import render as traefik
from controlplane.domain.admission.agent_door import AgentDoor
from controlplane.domain.snapshot import Snapshot
from controlplane.ports.outside import Artifact
from tests.sites.proxied import GROUP, fleet, snapshot

PLANES: dict[str, Callable[[Snapshot], Artifact]] = {
    "Caddy": lambda made: caddy(made, CaddyOptions(group=GROUP)),
    "HAProxy": lambda made: haproxy(made, HaproxyOptions(group=GROUP)),
    "nginx": lambda made: nginx(made, NginxOptions(group=GROUP)),
    "Traefik": lambda made: traefik(made, TraefikOptions(group=GROUP)),
}


@pytest.mark.parametrize("plane", PLANES)
def test_it_is_a_finding_of_the_group(plane: str) -> None:
    declared = fleet()
    without = PLANES[plane](snapshot(declared))
    gateways = tuple(replace(each, agent=AgentDoor()) for each in declared.gateways)
    made = PLANES[plane](snapshot(replace(declared, gateways=gateways)))
    found = [note for note in made.notes if note.code == "agent_not_asked"]
    assert [(note.subject, plane in note.message) for note in found] == [(f"gateway/{GROUP}", True)]
    assert "agent_not_asked" not in {note.code for note in without.notes}
