"""A clock that is set while the service runs, or between two runs of it."""

from controlplane.domain.services import StrategyName
from tests.builders import fleet, service
from tests.engine.rig import Rig


async def test_a_clock_that_is_set_back_does_not_hold_the_split_for_that_long() -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=StrategyName.CPU_EQUALIZER)))
    await rig.measure()
    await rig.tick()
    assert rig.revision == 2
    rig.clock.time_s -= 3600.0
    restarted = await rig.restart()
    await restarted.measure(hot=0.7)
    await restarted.tick()
    assert restarted.revision == 3
