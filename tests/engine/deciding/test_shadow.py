"""Trials, promotions and demotions through the loop, with models that are sound, bad or broken."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from controlplane.domain.decisions import Trigger
from controlplane.domain.findings import Source
from controlplane.domain.promotions import Alias, Promoting, PromotionEvent
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.domain.topology import Datacenter, Fleet, Role
from controlplane.engine.deciding.replay import Replays
from controlplane.ports.learning import StoredModel
from tests.builders import OPERATOR, cluster, fleet, service
from tests.engine.rig import Rig
from tests.fakes.stores import read_label

FloatArray = NDArray[np.float64]
CYCLES = 12
# The first forecast is made in the first cycle and judged in the second.
JUDGED = CYCLES + 1


def _sound(x: FloatArray) -> FloatArray:
    return 50.0 + 10.0 * (x[:, 6] - 0.6) ** 2


def _raising(x: FloatArray) -> FloatArray:
    raise ArithmeticError("the network is broken")


NETWORKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sound": _sound,
    "sound2": _sound,
    "constant": lambda x: np.full(len(x), 50.0),
    "inverted": lambda x: 120.0 - _sound(x),
    "nan": lambda x: np.full(len(x), np.nan),
    "raising": _raising,
}


def _read(data: bytes, created_s: float) -> tuple[StoredModel, LearnedModel]:
    stored, _ = read_label(data, created_s)
    network = NETWORKS[stored.digest]
    return stored, LearnedModel(digest=stored.digest, network=network, residual_spread=0.04)


@dataclass(slots=True)
class Story:
    """A rig whose service asks a network, and its clock in cycles."""

    rig: Rig = field(default_factory=Rig)
    minute: int = 0

    async def begin(self) -> "Story":
        self.rig.stores.models.read = _read
        await self.rig.declare(fleet(service(strategy=StrategyName.PROJECTED_MLP)))
        return self

    async def enroll(self, digest: str) -> None:
        await self.rig.models.enroll(f"tickets:{digest}".encode(), OPERATOR)

    async def promote(self, digest: str) -> None:
        await self.enroll(digest)
        await self.rig.models.promote("tickets", digest, OPERATOR)

    async def live(self, cycles: int) -> None:
        """Equal load and response times, CPU that hardly moves; a decision each five minutes."""
        for _ in range(cycles):
            for _ in range(5):
                self.minute += 1
                self.rig.clock.time_s += 60.0
                wobble = 0.001 * (self.minute % 7)
                await self.rig.measure(hot=0.5 + wobble, cold=0.5 - wobble)
            await self.rig.tick()

    async def restart(self) -> None:
        self.rig = await self.rig.restart()

    @property
    def codes(self) -> list[str]:
        """Codes of the notes of the newest decision."""
        return [note.code for note in self.rig.loop.decisions["tickets"].notes]

    def findings(self, source: Source = Source.MODELS) -> list[str]:
        standing = self.rig.instruments.findings.standing()
        return [one.observation.code for one in standing if one.source is source]

    async def events(self) -> list[tuple[PromotionEvent, str]]:
        steps = await self.rig.models.promotions("tickets", 99)
        return [(step.event, step.model) for step in reversed(steps)]

    @property
    def champion(self) -> str:
        model = self.rig.models.champions.get("tickets")
        return "" if model is None else model.digest


def _replays(rig: Rig) -> Replays:
    return Replays(rig.stores.fleets, rig.stores.models)


@pytest.mark.parametrize("kind", ["constant", "inverted", "nan", "raising"])
async def test_a_champion_that_turned_bad_is_demoted_after_12_forecasts(kind: str) -> None:
    story = await Story().begin()
    await story.promote(kind)
    await story.live(JUDGED - 1)
    assert story.findings() == []
    await story.live(1)
    assert story.findings() == ["model_demoted"]
    assert "model_demoted" in story.codes or kind in ("nan", "raising")
    assert (await story.events())[-1] == (PromotionEvent.DEMOTED, kind)
    await story.live(2)
    decision = story.rig.loop.decisions["tickets"]
    assert (decision.strategy, decision.model) == (StrategyName.OBSERVED_LAWS, "")
    assert story.codes[0] == "skill_demoted"
    assert story.findings(Source.LOOP) == []
    assert (await story.events())[-2:] == [
        (PromotionEvent.PROMOTED, kind),
        (PromotionEvent.DEMOTED, kind),
    ]


async def test_a_sound_champion_stays() -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.live(3 * CYCLES)
    assert story.findings() == []
    assert story.rig.loop.decisions["tickets"].model == "sound"


async def test_a_model_that_raises_holds_its_service_and_is_a_finding() -> None:
    story = await Story().begin()
    await story.promote("raising")
    await story.live(2)
    before = story.rig.weights()
    await story.live(3)
    assert story.rig.weights() == before
    assert story.codes[0] == "model_failed"
    assert story.findings(Source.LOOP) == ["decision_failed"]


async def test_a_demotion_survives_a_restart_and_ends_with_a_promotion_of_the_same_model() -> None:
    story = await Story().begin()
    await story.promote("constant")
    await story.live(JUDGED)
    await story.restart()
    await story.live(1)
    assert (story.codes[0], story.findings()) == ("skill_demoted", ["model_demoted"])
    demotions = [event for event, _ in await story.events()].count(PromotionEvent.DEMOTED)
    assert demotions == 1
    await story.rig.models.promote("tickets", "constant", OPERATOR, "once more")
    await story.live(1)
    assert story.rig.loop.decisions["tickets"].model == "constant"
    assert story.findings() == []
    await story.live(JUDGED - 1)
    assert story.findings() == ["model_demoted"]


async def test_a_shadow_that_proves_itself_is_promoted_by_itself() -> None:
    story = await Story().begin()
    await story.enroll("sound")
    await story.live(JUDGED - 1)
    decision = story.rig.loop.decisions["tickets"]
    assert (decision.strategy, decision.model) == (StrategyName.OBSERVED_LAWS, "")
    assert decision.trial is not None
    assert (decision.trial.model, decision.trial.strategy) == ("sound", "projected_mlp")
    assert story.champion == ""
    await story.live(1)
    assert story.champion == "sound"
    newest = (await story.rig.models.promotions("tickets", 1))[0]
    assert (newest.event, newest.author) == (PromotionEvent.PROMOTED, "signalbox")
    assert newest.reason.startswith("mean error ")
    await story.live(1)
    assert story.rig.loop.decisions["tickets"].model == "sound"
    assert story.rig.loop.decisions["tickets"].trial is None


async def test_a_second_model_is_compared_with_the_champion() -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.live(CYCLES)
    await story.enroll("sound2")
    await story.live(JUDGED)
    assert story.champion == "sound2"
    assert await story.rig.models.roll_back("tickets", OPERATOR) == "sound"


@pytest.mark.parametrize("kind", ["constant", "inverted", "nan", "raising"])
async def test_a_bad_shadow_stays_a_challenger_and_harms_nobody(kind: str) -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.enroll(kind)
    await story.live(JUDGED)
    assert story.champion == "sound"
    assert story.rig.models.shadows == {}
    assert story.findings() == ["challenger_refused"]
    assert story.findings(Source.LOOP) == []
    stored = {model.digest: model.aliases for model in await story.rig.models.all("tickets")}
    assert stored == {"sound": (Alias.CHAMPION,), kind: (Alias.CHALLENGER,)}
    await story.restart()
    await story.live(1)
    assert story.findings() == ["challenger_refused"]
    await story.enroll("sound2")
    await story.live(1)
    assert story.findings() == []


async def test_by_hand_a_shadow_waits_and_says_so() -> None:
    story = await Story().begin()
    story.rig.models.promoting = Promoting.BY_HAND
    await story.enroll("sound")
    await story.live(JUDGED + 2)
    assert story.champion == ""
    assert story.findings() == ["challenger_ready"]
    await story.rig.models.promote("tickets", "sound", OPERATOR)
    await story.live(1)
    assert story.findings() == []


async def test_a_trial_goes_on_after_a_restart() -> None:
    story = await Story().begin()
    await story.enroll("sound")
    await story.live(6)
    await story.restart()
    await story.live(JUDGED - 6)
    assert story.champion == "sound"


async def test_a_model_enrolled_again_is_tried_anew() -> None:
    story = await Story().begin()
    await story.enroll("constant")
    await story.live(JUDGED)
    await story.enroll("constant")
    await story.live(JUDGED - 1)
    assert "tickets" in story.rig.models.shadows
    await story.live(1)
    assert story.findings() == ["challenger_refused"]


async def test_a_step_that_the_store_does_not_take_is_taken_later() -> None:
    story = await Story().begin()
    await story.promote("nan")
    await story.live(JUDGED - 1)
    for _ in range(5):
        story.rig.clock.time_s += 60.0
        story.minute += 1
        await story.rig.measure(hot=0.5 + 0.001 * story.minute, cold=0.5)
    story.rig.stores.outage.away = True
    await story.rig.tick()
    assert story.rig.loop.decisions["tickets"].state.demoted_model == "nan"
    story.rig.stores.outage.away = False
    assert (await story.events())[-1] == (PromotionEvent.PROMOTED, "nan")
    await story.rig.tick(Trigger.OPERATOR)
    assert (await story.events())[-1] == (PromotionEvent.DEMOTED, "nan")
    assert story.findings() == ["model_demoted"]


async def test_a_service_that_is_no_longer_declared_has_no_findings() -> None:
    story = await Story().begin()
    await story.promote("constant")
    await story.live(JUDGED)
    assert story.findings() == ["model_demoted"]
    await story.rig.declare(fleet(service("orders")))
    assert story.findings() == []


async def test_a_decision_without_the_answer_of_its_model_is_made_again() -> None:
    story = await Story().begin()
    await story.promote("raising")
    await story.live(3)
    again = await _replays(story.rig).again(story.rig.loop.decisions["tickets"])
    assert again.identical
    assert again.proposal.failed
    assert again.verdict.state == story.rig.loop.decisions["tickets"].state


def _exchanged(declared: Fleet) -> Fleet:
    """The same fleet with the roles of its data centres exchanged, and so their order."""
    roles = [center.role for center in reversed(declared.datacenters)]
    centers = zip(declared.datacenters, roles, strict=True)
    return replace(declared, datacenters=tuple(replace(c, role=role) for c, role in centers))


async def test_a_model_is_demoted_when_its_data_centers_change_places() -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.live(3)
    await story.enroll("sound2")
    await story.live(3)
    await story.rig.declare(_exchanged(story.rig.fleets.current.fleet))
    await story.live(1)
    decision = story.rig.loop.decisions["tickets"]
    assert (decision.centers[0], decision.strategy) == ("beijing-2", StrategyName.OBSERVED_LAWS)
    assert (story.codes[0], story.findings()) == ("skill_demoted", ["model_demoted"])
    assert decision.state.demotion is not None
    assert decision.state.demotion.reason.endswith("they are beijing-2/beijing-1 now")
    assert decision.trial is not None
    assert decision.trial.ledger.pairs == ()
    again = await _replays(story.rig).again(decision)
    assert (again.identical, again.verdict.state) == (True, decision.state)
    await story.restart()
    await story.live(1)
    assert (story.codes[0], story.findings()) == ("skill_demoted", ["model_demoted"])
    await story.rig.models.promote("tickets", "sound", OPERATOR, "it knows them")
    await story.live(2)
    assert story.rig.loop.decisions["tickets"].model == "sound"
    assert story.findings() == []


async def test_a_promotion_after_the_exchange_counts() -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.live(2)
    await story.rig.declare(_exchanged(story.rig.fleets.current.fleet))
    await story.promote("sound2")
    await story.live(1)
    assert story.rig.loop.decisions["tickets"].model == "sound2"


async def test_a_third_data_center_demotes_nobody() -> None:
    story = await Story().begin()
    await story.promote("sound")
    await story.live(2)
    declared = story.rig.fleets.current.fleet
    third = Datacenter(name="cloud-1", role=Role.CLOUD, region="south")
    (own,) = declared.services
    wider = replace(own, clusters=(*own.clusters, cluster("cloud-1", 50.0, range(9201, 9203))))
    await story.rig.declare(
        replace(declared, datacenters=(*declared.datacenters, third), services=(wider,))
    )
    await story.live(1)
    assert story.findings() == []
