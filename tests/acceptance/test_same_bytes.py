"""Same facts, same bytes: what did not change is not pushed."""

import asyncio
from collections.abc import Callable

from controlplane.adapters.envoy.plane import EnvoyPlane
from controlplane.domain.topology import Fleet
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.ads_client import connected
from tests.adapters.envoy.site import SMALL, plane, shuffled, snapshot

SHUFFLES = 100
QUIET_S = 0.2
SUBSCRIPTIONS = {
    ResourceType.CLUSTER: (),
    ResourceType.ENDPOINT: ("api", "web"),
    ResourceType.LISTENER: (),
    ResourceType.ROUTE: ("rules",),
}


async def apply(one: EnvoyPlane, fleet: Fleet, revision: int) -> str:
    made = snapshot(fleet, revision)
    await one.apply(one.render(made))
    return made.version


async def test_shuffled_input_is_the_same_version_and_no_push(
    record_property: Callable[[str, object], None],
) -> None:
    """5. Input shuffled 100 times gives the same version and no push to a connected gateway."""
    one = plane()
    versions = {await apply(one, SMALL, 1)}
    port = await one.start()
    async with connected(port) as client:
        for kind, names in SUBSCRIPTIONS.items():
            await client.ask(kind, *names)
            await client.ack(await client.response(), *names)
        async with asyncio.timeout(5):
            while one.acks < len(SUBSCRIPTIONS):
                await asyncio.sleep(0.005)
        before = one.pushes
        for seed in range(SHUFFLES):
            versions.add(await apply(one, shuffled(SMALL, seed), seed + 2))
            await asyncio.sleep(0)
        await asyncio.sleep(QUIET_S)
        (node,) = await one.observe()
    await one.stop()
    record_property("versions", len(versions))
    record_property("pushes", one.pushes - before)
    assert len(versions) == 1
    assert one.pushes == before
    assert node.revision == SHUFFLES + 1
