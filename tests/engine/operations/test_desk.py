"""The desk on the real register of intents."""

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict
from controlplane.domain.intents.intent import Ending, IntentKind, Target, Wanted
from controlplane.engine.intents.intents import Ask
from controlplane.engine.operations.intent_desk import Desk
from tests.builders import fleet
from tests.engine.rig import Rig

LEAVE = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="beijing-1"), return_s=0.0)


async def test_what_is_known_follows_the_register_and_outlives_a_restart() -> None:
    rig = Rig()
    await rig.declare(fleet())
    desk = Desk(rig.intents)
    await desk.restore()
    assert not desk.known
    made = await desk.order(Ask(wanted=LEAVE, author="policy/leave", automatic=True))
    assert desk.known[made.id].published == 0
    assert desk.known is desk.known
    await rig.follow()
    assert desk.known[made.id].published > 0
    forecast, objection = await desk.forecast(Ask(wanted=LEAVE, author="x"), [])
    assert isinstance(objection, Conflict)
    assert not forecast.moves or forecast.moves[0].service == "tickets"
    await desk.undo(made.id, "anna", "over")
    await rig.follow()
    assert desk.known[made.id].ending is Ending.UNDONE
    again = await rig.restart()
    await again.tick(Trigger.OPERATOR)
    later = Desk(again.intents)
    await later.restore()
    assert later.known[made.id].ending is Ending.UNDONE
    with pytest.raises(Conflict):
        await later.undo(made.id, "anna", "over")
