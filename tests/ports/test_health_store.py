"""HealthStore: one picture, the newest."""

from dataclasses import replace

from tests.domain.health.site import evidence, next_picture, saying, service
from tests.ports.conftest import Stores


async def test_nothing_stored(stores: Stores) -> None:
    assert await stores.health.load() is None


async def test_a_picture_comes_back_whole_and_the_newest_alone(stores: Stores) -> None:
    shop = service()
    health = next_picture(shop, evidence({"own": saying(shop, (10,))}))
    await stores.health.keep(health)
    assert await stores.health.load() == health
    newer = replace(health, number=7, held=True)
    await stores.health.keep(newer)
    assert await stores.health.load() == newer
