"""Late cycles: settled too late, or never begun."""

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.services import StrategyName
from controlplane.engine.pokes import Poke
from controlplane.engine.reconciling.punctuality import Punctuality
from tests.builders import fleet, service
from tests.engine.rig import START_S, Rig


def timer(due_s: float) -> Poke:
    return Poke(trigger=Trigger.TIMER, due_s=due_s)


def test_settled_before_the_next_one_is_due() -> None:
    on_time = Punctuality(300.0)
    for cycle in range(5):
        on_time.settled([timer(300.0 * cycle)], 300.0 * cycle + 299.9)
    assert on_time.late == 0


def test_settled_after_the_next_one_was_due() -> None:
    slow = Punctuality(300.0)
    slow.settled([timer(0.0)], 300.1)
    slow.settled([timer(300.0), timer(600.0)], 700.0)
    assert slow.late == 2


@pytest.mark.parametrize(("due_s", "skipped"), [(300.0, 0), (301.0, 0), (600.0, 1), (1500.0, 4)])
def test_cycles_that_the_calendar_left_out(due_s: float, skipped: int) -> None:
    held_up = Punctuality(300.0)
    held_up.settled([timer(0.0)], 1.0)
    held_up.settled([timer(due_s)], due_s + 1.0)
    assert held_up.late == skipped


def test_alarms_and_operators_are_never_late() -> None:
    other = Punctuality(300.0)
    other.settled([Poke(trigger=Trigger.ALARM), Poke(trigger=Trigger.OPERATOR)], 1e9)
    assert other.late == 0


async def test_the_loop_counts_a_cycle_that_waits_for_the_store() -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=StrategyName.CPU_EQUALIZER)))
    await rig.loop.tick([timer(START_S)])
    assert rig.loop.punctuality.late == 0
    await rig.measure()
    rig.stores.outage.away = True
    await rig.loop.tick([timer(START_S + 300.0)])
    rig.clock.time_s = START_S + 601.0
    rig.stores.outage.away = False
    await rig.loop.tick([timer(START_S + 600.0)])
    assert rig.loop.punctuality.late == 1
