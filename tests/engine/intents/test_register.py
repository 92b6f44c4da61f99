"""The register of intents over a store that fails in the worst moment."""

from dataclasses import dataclass, field
from dataclasses import replace as replaced

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Retryable
from controlplane.domain.intents.intent import (
    Ending,
    Intent,
    IntentKind,
    IntentState,
    Target,
    Wanted,
)
from controlplane.engine.intents.intents import Ask
from tests.builders import fleet, sample
from tests.engine.rig import Rig
from tests.fakes.intents import MemoryIntentStore

NORTH = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="beijing-1"))
ALL_SOUTH = {"beijing-1": 0, "beijing-2": 10_000}


@dataclass(slots=True)
class ForgetfulStore(MemoryIntentStore):
    """Commits, and says that it did not: a disk that hangs in the commit and answers later."""

    late: list[bool] = field(default_factory=list)

    async def put(
        self, intents: list[Intent], expected_change: int, audit: list[AuditEntry] = ()
    ) -> None:
        await MemoryIntentStore.put(self, intents, expected_change, audit)
        if self.late and self.late.pop(0):
            raise Retryable("store_unavailable", "no answer in time (test)")


async def rig(load_rps: float = 30.0) -> Rig:
    made = Rig()
    await made.declare(fleet())
    for center in ("beijing-1", "beijing-2"):
        one = sample(center, made.clock.now(), request_rate_rps=load_rps / 2, connections=40.0)
        await made.intake.accept([one])
    return made


async def forgetful() -> tuple[Rig, ForgetfulStore]:
    made = await rig()
    store = ForgetfulStore(audit=made.stores.intents.audit, outage=made.stores.outage, late=[True])
    made.stores.intents = store
    return await made.restart(), store


async def test_a_change_that_was_stored_after_all_is_no_conflict() -> None:
    made, store = await forgetful()
    intent = await made.intents.create(Ask(wanted=NORTH, author="ann"))
    assert (made.intents.unsaved, len(store.intents)) == (1, 1)
    await made.follow()
    assert (made.intents.unsaved, made.weights()) == (0, ALL_SOUTH)
    await made.intents.undo(intent.id, "bob")
    await made.follow()
    assert made.intents.standing == ()


async def test_what_another_writer_stored_meanwhile_does_not_jam_the_register() -> None:
    made = await rig()
    other = await made.restart()
    made.stores.outage.away = True
    await made.intents.create(Ask(wanted=NORTH, author="ann"))
    made.stores.outage.away = False
    freeze = Wanted(kind=IntentKind.FREEZE, target=Target(service="tickets"))
    theirs = await other.intents.create(Ask(wanted=freeze, author="bob"))
    await made.follow()
    await made.follow()
    assert made.intents.unsaved == 0
    assert [one.kind for one in made.intents.standing] == [IntentKind.FREEZE, IntentKind.FAILOVER]
    assert made.weights() == ALL_SOUTH
    stored = await made.stores.intents.standing()
    assert [one.author for one in stored] == ["bob", "ann"]
    for one in made.intents.standing:
        await made.intents.undo(one.id, "bob")
    await made.follow()
    assert (made.intents.standing, theirs.standing) == ((), True)


async def test_what_is_not_stored_yet_stands_when_the_register_is_read_again() -> None:
    made = await rig()
    made.stores.outage.away = True
    await made.intents.create(Ask(wanted=NORTH, author="ann"))
    made.stores.outage.away = False
    await made.intents.restore()
    await made.follow()
    assert made.weights() == ALL_SOUTH
    assert [one.author for one in made.intents.standing] == ["ann"]


async def test_load_moves_after_admission_although_the_store_is_away() -> None:
    made = await rig(load_rps=190.0)
    made.stores.outage.away = True
    forced = replaced(NORTH, force=True)
    intent = await made.intents.create(Ask(wanted=forced, author="ann"))
    assert intent.state is IntentState.PREPARING
    made.clock.time_s += 3.0
    await made.intents.course.look()
    assert made.intents.standing[0].state is IntentState.ACTIVE


async def test_admission_is_not_waited_for_longer_when_the_clock_goes_back() -> None:
    made = await rig(load_rps=190.0)
    await made.intents.create(Ask(wanted=replaced(NORTH, force=True), author="ann"))
    made.clock.time_s -= 3_600.0
    await made.intents.course.look()
    assert made.intents.standing[0].state is IntentState.ACTIVE


async def test_an_expiry_is_kept_although_the_store_is_away() -> None:
    made = await rig()
    before = made.weights()
    expires_s = made.clock.now() + 60.0
    await made.intents.create(Ask(wanted=replaced(NORTH, expires_s=expires_s), author="ann"))
    await made.follow()
    made.stores.outage.away = True
    made.clock.time_s += 61.0
    await made.follow()
    assert (made.weights(), made.intents.standing) == (before, ())
    assert "intents" in made.troubled
    made.stores.outage.away = False
    await made.follow()
    (stored,) = await made.stores.intents.recent(1)
    assert (stored.state, stored.ending, made.intents.unsaved) == (
        IntentState.ENDED,
        Ending.EXPIRED,
        0,
    )
    assert "intents" not in made.troubled


async def test_what_was_ordered_without_the_store_can_be_taken_back_without_it() -> None:
    made = await rig()
    before = made.weights()
    made.stores.outage.away = True
    intent = await made.intents.create(Ask(wanted=NORTH, author="ann"))
    await made.follow()
    assert made.weights() == ALL_SOUTH
    await made.intents.undo(intent.id, "bob", "the wrong one")
    await made.follow()
    assert (made.weights(), made.intents.standing) == (before, ())
    made.stores.outage.away = False
    await made.follow()
    assert made.intents.unsaved == 0
    audited = [(one.author, one.action) for one in made.stores.intents.audit.entries]
    assert audited[-3:] == [
        ("ann", "intent.failover"),
        ("bob", "intent.undo"),
        ("time", "intent.returned"),
    ]


async def test_an_expiry_that_was_never_stored_comes_again_after_a_restart() -> None:
    made = await rig()
    expires_s = made.clock.now() + 60.0
    await made.intents.create(Ask(wanted=replaced(NORTH, expires_s=expires_s), author="ann"))
    made.stores.outage.away = True
    made.clock.time_s += 61.0
    await made.follow()
    made.stores.outage.away = False
    other = await made.restart()
    await other.follow()
    assert other.intents.standing == ()
