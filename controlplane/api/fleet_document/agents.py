"""The part of a gateway group about the agent that its gateways ask. Called by `sections`."""

from controlplane.api.fleet_document.addresses import address
from controlplane.api.fleet_document.clusters import PORT
from controlplane.api.fleet_document.conditions import HEADER, several
from controlplane.api.fleet_document.reading import Place, choice, fields
from controlplane.domain.admission.agent_door import AgentDoor, WhenAway

USUAL = AgentDoor()


def agent(place: Place) -> AgentDoor:
    """Where the agent beside each gateway is; `{}` is where it is by default."""
    entries = fields(place, ("address", "port", "when_away", "headers"))
    return AgentDoor(
        address=entries.optional("address", address, USUAL.address),
        port=entries.optional("port", PORT, USUAL.port),
        when_away=entries.optional("when_away", choice(WhenAway), USUAL.when_away),
        headers=entries.optional("headers", several(HEADER, "names of headers"), ()),
    )
