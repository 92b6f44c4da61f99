"""The last endpoint that is well is the last one, whatever is declared beside it."""

import pytest

from controlplane.domain.errors import Refused
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.engine.intents.intents import Ask
from tests.builders import fleet, service
from tests.engine.rig import Rig


def failover(endpoint: str = "", datacenter: str = "beijing-2") -> Ask:
    named = "tickets" if endpoint else ""
    target = Target(service=named, datacenter=datacenter, endpoint=endpoint)
    return Ask(wanted=Wanted(kind=IntentKind.FAILOVER, target=target), author="ann")


async def test_the_only_well_endpoint_of_the_last_data_centre_is_refused() -> None:
    made = Rig()
    await made.declare(fleet())
    (south,) = (one for one in service().clusters if one.datacenter == "beijing-2")
    first, *others = south.endpoints
    dead = frozenset(
        EndpointKey(
            service="tickets",
            datacenter="beijing-2",
            cluster="",
            address=one.address,
            port=one.port,
        )
        for one in others
    )
    made.intents._parts.standing.out = lambda: {"tickets": dead}
    well = f"{first.address}:{first.port}"
    _, objection = await made.intents.dry_run(failover(well))
    assert objection is None
    await made.intents.create(failover(datacenter="beijing-1"))
    await made.follow()
    with pytest.raises(Refused, match="last one that serves"):
        await made.intents.create(failover(well))
