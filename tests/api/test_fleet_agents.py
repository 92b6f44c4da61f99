"""The agent of a gateway group in a fleet document."""

from dataclasses import replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.admission.agent_door import AgentDoor, WhenAway
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.topology import Fleet
from tests import builders

FULL = AgentDoor(
    address="::1", port=7, when_away=WhenAway.REFUSE, headers=("x-class", "x-risk-level")
)


def with_agent(agent: AgentDoor | None) -> Fleet:
    declared = builders.fleet()
    return replace(declared, gateways=tuple(replace(g, agent=agent) for g in declared.gateways))


@pytest.mark.parametrize("agent", [None, AgentDoor(), FULL])
def test_it_writes_and_reads_back(agent: AgentDoor | None) -> None:
    fleet = normalized(with_agent(agent))
    assert fleet.gateways
    assert parse(render(fleet)) == fleet


def test_the_order_of_headers_says_nothing() -> None:
    other = replace(FULL, headers=FULL.headers[::-1])
    assert normalized(with_agent(other)) == normalized(with_agent(FULL))


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("port: 0", "port"),
        ("address: 0.0.0.0", "address"),
        ("address: localhost", "address"),
        ("when_away: perhaps", "when_away"),
        ("headers: ['X Y']", "headers[0]"),
        ("socket: x", "socket"),
    ],
)
def test_what_cannot_be_is_named(keys: str, path: str) -> None:
    text = f"datacenters: []\ngateways: [{{name: edge, agent: {{{keys}}}}}]\n"
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert f"gateways[0].agent.{path}" in str(caught.value.details)
