"""The same facts in any order, through the real store and Envoy's plane: nothing is pushed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from controlplane.adapters.envoy.ads import AdsOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.decisions import Trigger
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.ads_client import connected
from tests.adapters.envoy.site import SMALL, anybody, shuffled
from tests.builders import OPERATOR
from tests.engine.rig import Rig

SHUFFLES = 100
QUIET_S = 0.2
SUBSCRIPTIONS = {
    ResourceType.CLUSTER: (),
    ResourceType.ENDPOINT: ("api", "web"),
    ResourceType.LISTENER: (),
    ResourceType.ROUTE: ("rules",),
}


async def test_shuffled_fleets_through_engine_and_store_push_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """5. A fleet applied in 100 orders is one revision, one version, and no push to a gateway."""
    shelf = ModelFiles(tmp_path / "models", learned)
    stores = await SqlStores.open(sqlite_url(tmp_path / "signalbox.db"), shelf)
    rig = Rig(stores=stores)  # type: ignore[arg-type]
    plane = EnvoyPlane(PlaneOptions(ads=AdsOptions(port=0)), anybody, rig.clock.now)

    async def deliver() -> str:
        current = rig.publication.current
        assert current is not None
        await plane.apply(plane.render(current))
        return current.version

    await rig.declare(SMALL)
    versions = {await deliver()}
    port = await plane.start()
    async with connected(port) as client:
        for kind, names in SUBSCRIPTIONS.items():
            await client.ask(kind, *names)
            await client.ack(await client.response(), *names)
        before = plane.pushes
        for seed in range(SHUFFLES):
            await rig.fleets.apply(shuffled(SMALL, seed), OPERATOR)
            await rig.tick(Trigger.OPERATOR)
            await rig.tick(Trigger.TIMER)
            versions.add(await deliver())
        await asyncio.sleep(QUIET_S)
        pushes = plane.pushes - before
        # The counter does count: one route less is pushed.
        await rig.declare(replace(SMALL, routes=SMALL.routes[1:]))
        versions_after = {await deliver()}
        await client.response()
        counted = plane.pushes - before
    await plane.stop()
    first = await stores.snapshots.at(1)
    await stores.close()
    record_property("versions", len(versions))
    record_property("pushes", pushes)
    assert (versions, pushes) == ({first.version}, 0)
    assert (rig.revision, rig.fleets.current.generation) == (2, 2)
    assert versions_after != versions
    assert counted >= 1
