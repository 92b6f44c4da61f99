"""Routes through their lives: drafts, gray releases behind gates, rollbacks, and time."""

from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain import canonical
from controlplane.domain.errors import Conflict, Invalid, NotFound, Refused
from controlplane.domain.routing.life.gates import Word
from controlplane.domain.routing.life.release import Gate, Gray, GrayBy, GrayStep, Life, Release
from controlplane.domain.routing.route import Cohort, Condition, PathMatch, Route, RouteCheck
from controlplane.domain.snapshot import Section
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.change import Wish
from controlplane.engine.routes.edits import RouteItem
from controlplane.engine.routes.gray_releases import RouteParts
from controlplane.engine.routes.life import RouteLife
from tests.builders import OPERATOR, fleet, sample, service
from tests.engine.rig import Rig

WISH = Wish(author=OPERATOR, reason="because")
OLD = Route(id="r", service="tickets", path=PathMatch(value="/r"))
NEW = replace(OLD, service="other")
STEPS = (GrayStep(share=500, hold_s=60.0), GrayStep(share=2_000, hold_s=60.0))
BY_USER = Gray(by=GrayBy.USER, steps=STEPS)


@dataclass
class House:
    rig: Rig = field(default_factory=Rig)

    def __post_init__(self) -> None:
        rig = self.rig
        parts = RouteParts(
            fleets=rig.fleets,
            store=rig.stores.fleets,
            publication=rig.publication,
            pokes=rig.pokes,
            window=rig.intake.window,
        )
        self.life = RouteLife(parts, rig.instruments)

    async def settle(self) -> None:
        await self.rig.loop.tick(await self.rig.pokes.take())

    async def pass_time(self, seconds: float) -> None:
        self.rig.clock.time_s += seconds
        await self.life.look()

    async def measure(self, error_ratio: float | None, service: str = "other") -> None:
        for center in ("beijing-1", "beijing-2"):
            now_s = self.rig.clock.now()
            cpu = 0.3 + now_s % 997 / 5_000
            one = replace(sample(center, now_s), error_ratio=error_ratio, cpu_avg=cpu)
            receipt = await self.rig.intake.accept([replace(one, service=service)])
            assert receipt.accepted == 1, receipt

    def published(self) -> list[str]:
        current = self.rig.publication.current
        assert current is not None
        return [f"{one.id} {one.service}" for one in current.content.routes.routes]

    def bytes(self) -> bytes:
        current = self.rig.publication.current
        assert current is not None
        return current.sections[Section.ROUTES]

    async def events(self) -> list[str]:
        return [one.event for one in await self.life.revisions("r", 20)]


def declared(*routes: Route) -> Fleet:
    return replace(fleet(service(), service("other")), routes=routes)


@pytest.fixture
async def house() -> House:
    house = House()
    await house.rig.declare(declared(OLD))
    return house


async def test_a_draft_changes_no_traffic_and_is_published_as_a_revision(house: House) -> None:
    await house.life.write(NEW, WISH)
    assert house.life.item("r").life is Life.DRAFT
    await house.settle()
    assert house.published() == ["r tickets"]
    await house.life.publish("r", WISH)
    await house.settle()
    assert house.published() == ["r other"]
    newest, first = await house.life.revisions("r", 20)
    assert (newest.event, newest.author, newest.reason) == ("publish", "operator", "because")
    assert newest.before == first.after == canonical.encode(OLD).decode()
    assert newest.route_after == NEW
    assert house.rig.stores.audit.entries[-1].action == "route.publish"


def test_a_route_is_found_by_what_stands_in_either_form() -> None:
    published = replace(NEW, id="Orders", hosts=("shop.example",))
    drafted = replace(published, service="other")
    release = Release(route=drafted, life=Life.DRAFT, author="a", changed_s=0.0)
    item = RouteItem(id="Orders", life=Life.DRAFT, published=published, release=release)
    assert all(item.mentions(text) for text in ("", "orders", "SHOP", NEW.path.value, "other"))
    assert not item.mentions("elsewhere")
    assert RouteItem(id="x", life=Life.NEW).mentions("x")


async def test_a_rollback_is_byte_equal(house: House) -> None:
    before, version = house.bytes(), house.rig.publication.current
    await house.life.write(NEW, WISH)
    await house.life.publish("r", WISH)
    await house.settle()
    assert house.bytes() != before
    await house.life.rollback("r", WISH)
    await house.settle()
    assert house.bytes() == before
    assert version is not None
    assert house.rig.publication.current is not None
    assert house.rig.publication.current.version == version.version
    assert await house.events() == ["rollback", "publish", "force_apply"]
    numbers = [one.number for one in await house.life.revisions("r", 20)]
    await house.life.rollback("r", WISH, numbers[1])
    assert house.life.item("r").published == NEW


async def test_a_rollback_needs_an_earlier_form(house: House) -> None:
    with pytest.raises(Conflict, match="r was not published before revision"):
        await house.life.rollback("r", WISH)
    with pytest.raises(NotFound, match="never published"):
        await house.life.rollback("nobody", WISH)
    await house.life.write(replace(NEW, id="q", priority=1), WISH)
    await house.life.publish("q", WISH)
    (revision,) = await house.life.revisions("q", 5)
    with pytest.raises(NotFound, match="is of route q"):
        await house.life.rollback("r", WISH, revision.number)
    with pytest.raises(NotFound, match="revision 99"):
        await house.life.rollback("r", WISH, 99)
    await house.life.retire("q", WISH)
    retired, _ = await house.life.revisions("q", 5)
    with pytest.raises(Conflict, match="took route q away"):
        await house.life.rollback("q", WISH, retired.number)


async def test_the_whole_table_goes_back_to_a_generation(house: House) -> None:
    before, generation = house.bytes(), house.rig.fleets.current.generation
    for one in (NEW, replace(NEW, id="q", priority=1)):
        await house.life.write(one, WISH)
        await house.life.publish(one.id, WISH)
    await house.life.rollback_table(generation, WISH, force=True)
    await house.settle()
    assert house.bytes() == before
    await house.rig.fleets.apply(
        replace(declared(), services=(service("other"),)), OPERATOR, force=True
    )
    with pytest.raises(Conflict, match="names service tickets"):
        await house.life.rollback_table(generation, WISH, force=True)


async def test_two_routes_for_the_same_requests_are_not_published(house: House) -> None:
    await house.life.write(replace(NEW, id="q"), WISH)
    with pytest.raises(Conflict, match="exactly the requests of route r"):
        await house.life.publish("q", WISH)


async def test_a_retired_route_is_gone_and_comes_back_as_it_was(house: House) -> None:
    before = house.bytes()
    await house.life.retire("r", WISH)
    await house.settle()
    assert house.published() == []
    assert house.life.item("r").life is Life.RETIRED
    await house.life.publish("r", WISH)
    await house.settle()
    assert house.bytes() == before
    assert await house.events() == ["publish", "retire", "force_apply"]


async def test_a_draft_and_a_retired_route_can_be_dropped(house: House) -> None:
    await house.life.write(NEW, WISH)
    await house.life.discard("r", WISH)
    assert house.life.item("r").life is Life.FULL
    await house.life.write(replace(NEW, id="q"), WISH)
    await house.life.retire("q", WISH)
    await house.life.discard("q", WISH)
    assert [one.id for one in house.life.items()] == ["r"]
    for call in (house.life.discard, house.life.publish, house.life.retire):
        with pytest.raises(NotFound, match="there is no route q"):
            await call("q", WISH)
    with pytest.raises(Conflict, match="write a draft of it first"):
        await house.life.publish("r", WISH)


async def test_a_file_leaves_drafts_and_releases_alone(house: House) -> None:
    await house.life.write(NEW, WISH)
    await house.rig.fleets.apply(declared(OLD, replace(OLD, id="q", priority=1)), OPERATOR)
    assert house.life.item("r").life is Life.DRAFT
    assert (await house.rig.restart()).fleets.current.fleet.releases


async def test_a_file_that_changes_a_route_stops_its_gray_release(house: House) -> None:
    await house.life.write(NEW, WISH)
    await house.life.start_gray("r", BY_USER, WISH)
    other = replace(OLD, id="q", priority=1)
    await house.rig.fleets.apply(declared(OLD, other), OPERATOR)
    assert house.life.item("r").life is Life.GRAY
    await house.rig.fleets.apply(declared(replace(OLD, timeout_ms=5), other), OPERATOR)
    assert house.life.item("r").life is Life.DRAFT
    await house.settle()
    assert house.published() == ["q tickets", "r tickets"]


async def test_a_gray_release_goes_from_step_to_step_while_its_gate_is_open(house: House) -> None:
    await house.life.write(NEW, WISH)
    await house.life.start_gray("r", BY_USER, WISH)
    await house.settle()
    assert house.published() == ["gray/r other", "r tickets"]
    for step in (0, 1):
        await house.pass_time(59.0)
        release = house.life.item("r").release
        assert release is not None
        assert release.step == step
        # A period that began before the step says nothing about it.
        await house.pass_time(1.0)
        assert house.life.verdict("r") is not None
        await house.measure(error_ratio=0.001)
        await house.life.look()
    await house.settle()
    assert house.published() == ["r other"]
    assert house.life.item("r").life is Life.FULL
    assert await house.events() == ["full", "gray", "force_apply"]
    assert house.rig.stores.audit.entries[-1].reason == "gray release: every gate is passed"


@pytest.mark.parametrize(
    ("error_ratio", "reason"),
    [(None, "has sent no metrics"), (0.5, "the error ratio is 0.5, the gate allows 0.01")],
)
async def test_it_holds_without_metrics_and_above_its_limit(
    house: House, error_ratio: float | None, reason: str
) -> None:
    await house.life.write(NEW, WISH)
    await house.life.start_gray("r", BY_USER, WISH)
    await house.settle()
    for _ in range(10):
        await house.pass_time(60.0)
        if error_ratio is not None:
            await house.measure(error_ratio)
            await house.life.look()
    found = house.life.verdict("r")
    assert found is not None
    assert found.word is Word.HOLD
    assert reason in found.reason
    (finding,) = house.rig.findings.standing()
    assert (finding.observation.code, finding.observation.subject) == ("gray_held", "route/r")
    assert house.life.item("r").release is not None
    await house.life.stop_gray("r", WISH)
    await house.life.look()
    assert house.rig.findings.standing() == []
    assert house.life.item("r").life is Life.DRAFT
    await house.life.rollback("r", WISH, (await house.life.revisions("r", 9))[0].number)
    assert house.life.item("r").published == NEW


async def test_a_step_that_cannot_be_taken_holds(house: House) -> None:
    await house.life.write(NEW, WISH)
    quick = replace(BY_USER, gate=Gate(most_error_ratio=None))
    await house.life.start_gray("r", quick, WISH)
    house.rig.stores.outage.away = True
    await house.pass_time(60.0)
    found = house.life.verdict("r")
    assert found is not None
    assert "the database does not answer" in found.reason


async def test_steps_by_hand(house: House) -> None:
    await house.life.write(NEW, WISH)
    by_hand = replace(BY_USER, steps=(GrayStep(share=100), GrayStep(share=500)))
    await house.life.start_gray("r", by_hand, WISH)
    await house.pass_time(1e6)
    await house.life.step_gray("r", WISH)
    release = house.life.item("r").release
    assert release is not None
    assert release.step == 1
    await house.life.step_gray("r", WISH, 0)
    with pytest.raises(Invalid, match="steps 0 to 1, not 7"):
        await house.life.step_gray("r", WISH, 7)
    with pytest.raises(Conflict, match="stop its gray release first"):
        await house.life.write(NEW, WISH)
    await house.life.step_gray("r", WISH, 2)
    assert house.life.item("r").life is Life.FULL


@pytest.mark.parametrize(
    ("gray", "problem"),
    [
        (replace(BY_USER, steps=()), "has 0 steps"),
        (replace(BY_USER, steps=STEPS[::-1]), "shares that do not grow"),
        (replace(BY_USER, header=Condition(name="x")), "names a header exactly when"),
        (Gray(by=GrayBy.HEADER, steps=(GrayStep(),)), "names a header exactly when"),
        (Gray(by=GrayBy.GATEWAYS, steps=(GrayStep(),)), "does not add a gateway group"),
        (Gray(by=GrayBy.GATEWAYS, steps=(GrayStep(gateways=("nowhere",)),)), "group nowhere"),
    ],
)
async def test_a_gray_release_that_cannot_be_is_refused(
    house: House, gray: Gray, problem: str
) -> None:
    await house.life.write(NEW, WISH)
    with pytest.raises(Invalid, match=problem):
        await house.life.start_gray("r", gray, WISH)


async def test_a_route_with_a_cohort_goes_by_gateways(house: House) -> None:
    await house.life.write(replace(NEW, cohort=Cohort(high=5)), WISH)
    with pytest.raises(Invalid, match="a cohort of its own"):
        await house.life.start_gray("r", BY_USER, WISH)
    steps = (GrayStep(gateways=("edge",)),)
    await house.life.start_gray("r", Gray(by=GrayBy.GATEWAYS, steps=steps), WISH)
    await house.settle()
    assert house.published() == ["gray/r other"]


async def test_a_publication_that_fails_a_check_is_refused(house: House) -> None:
    bad = replace(NEW, path=PathMatch(value="/x"), checks=(RouteCheck(path="/r"),))
    await house.life.write(bad, WISH)
    with pytest.raises(Refused, match="must get route r, and gets no route") as caught:
        await house.life.publish("r", WISH)
    assert caught.value.code == "route_check_failed"
    assert house.life.item("r").life is Life.DRAFT


async def test_of_a_file_with_a_failing_check_the_rest_ships(house: House) -> None:
    bad = replace(NEW, path=PathMatch(value="/x"), checks=(RouteCheck(path="/r"),))
    many = tuple(replace(OLD, id=f"q{n}", path=PathMatch(value=f"/q{n}")) for n in range(99))
    plan = await house.rig.fleets.plan(declared(bad, *many))
    change = await house.rig.fleets.apply(declared(bad, *many), OPERATOR)
    assert [one.route for one in plan.held] == [one.route for one in change.held] == ["r"]
    await house.settle()
    assert len(house.published()) == 100
    assert "r tickets" in house.published()
    (finding,) = house.rig.findings.standing()
    assert finding.observation.code == "route_check_failed"
    assert finding.observation.subject == "route/r"
    assert (await house.rig.fleets.apply(declared(OLD, *many), OPERATOR)).held == ()
    assert house.rig.findings.standing() == []


async def test_what_a_check_held_is_answered_by_a_change_of_that_route(house: House) -> None:
    bad = replace(NEW, path=PathMatch(value="/x"), checks=(RouteCheck(path="/r"),))
    other = replace(bad, id="q", path=PathMatch(value="/q"))
    await house.rig.fleets.apply(declared(bad, other), OPERATOR)
    assert house.rig.troubled == ["route/q", "route/r"]
    await house.life.write(NEW, WISH)
    assert house.rig.troubled == ["route/q"]


async def test_routes_begin_and_end_on_time(house: House) -> None:
    now_s = house.rig.clock.now()
    timed = replace(
        OLD, id="q", path=PathMatch(value="/q"), valid_from_s=now_s + 5, valid_until_s=now_s + 9
    )
    await house.life.write(timed, WISH)
    await house.life.publish("q", WISH)
    await house.settle()
    assert house.published() == ["r tickets"]
    assert await house.life.look() == 0.2
    for seconds, there in ((5.0, True), (4.0, False)):
        house.rig.clock.time_s += seconds - 0.05
        assert await house.life.look() == pytest.approx(0.05)
        await house.pass_time(0.05)
        await house.settle()
        assert ("q tickets" in house.published()) is there
    assert await house.life.look() == 0.2


async def test_another_writers_fleet_is_no_obstacle(house: House) -> None:
    rig = house.rig
    other = await rig.restart()
    await other.fleets.apply(declared(OLD, replace(OLD, id="z", priority=1)), OPERATOR)
    await house.life.write(NEW, WISH)
    assert [one.id for one in house.life.items()] == ["r", "z"]
    stale = replace(WISH, expected_generation=1)
    with pytest.raises(Conflict, match="generation 3, not 1"):
        await house.life.publish("r", stale)
