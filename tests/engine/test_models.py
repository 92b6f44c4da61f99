import pytest

from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.strategies.situation import LearnedModel
from tests.builders import OPERATOR, fleet, service
from tests.engine.rig import Rig
from tests.fakes import MemoryModelRegistry


async def _rig() -> Rig:
    rig = Rig()
    await rig.declare(fleet(service("orders"), service("tickets")))
    return rig


async def test_an_added_model_is_audited_by_name_and_decides_nothing_yet() -> None:
    rig = await _rig()
    stored = await rig.models.add(b"tickets:m1", OPERATOR, "trained on June")
    assert [model.digest for model in await rig.models.all("tickets")] == ["m1"]
    assert rig.models.champions == {}
    entry = rig.stores.audit.entries[-1]
    assert (entry.action, entry.subject) == ("model.add", "service/tickets model/m1")
    assert (entry.author, entry.reason) == ("operator", "trained on June")
    assert stored.aliases == ()


async def test_a_promoted_model_is_used_in_the_next_cycle() -> None:
    rig = await _rig()
    await rig.tick()
    assert rig.loop.decisions["tickets"].model == ""
    for digest in ("m1", "m2"):
        await rig.models.add(f"tickets:{digest}".encode(), OPERATOR)
        await rig.models.promote("tickets", digest, OPERATOR, "better")
        rig.clock.time_s += 300
        await rig.tick()
        assert rig.loop.decisions["tickets"].model == digest
        assert rig.loop.decisions["orders"].model == ""
    entry = rig.stores.audit.entries[-1]
    assert (entry.subject, entry.before, entry.after) == ("service/tickets", "m1", "m2")
    assert [m.digest for m in await rig.models.all() if "champion" in m.aliases] == ["m2"]


async def test_a_restart_loads_the_champions() -> None:
    rig = await _rig()
    await rig.models.add(b"tickets:m1", OPERATOR)
    await rig.models.promote("tickets", "m1", OPERATOR)
    assert (await rig.restart()).models.champions == {"tickets": LearnedModel(digest="m1")}


async def test_what_is_not_declared_or_not_of_the_service_is_not_promoted() -> None:
    rig = await _rig()
    await rig.models.add(b"orders:m1", OPERATOR)
    with pytest.raises(NotFound, match="service other"):
        await rig.models.promote("other", "m1", OPERATOR)
    with pytest.raises(NotFound, match="no model m1"):
        await rig.models.promote("tickets", "m1", OPERATOR)
    assert rig.models.champions == {}


async def test_a_damaged_champion_is_left_out_and_the_start_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    rig.stores.models.put("orders", "champion", LearnedModel(digest="m1"))
    rig.stores.models.put("tickets", "champion", LearnedModel(digest="m2"))
    sound = MemoryModelRegistry.load

    async def load(store: MemoryModelRegistry, name: str, alias: str) -> LearnedModel | None:
        if name == "orders":
            raise Invalid("model_damaged", "its files are gone")
        return await sound(store, name, alias)

    monkeypatch.setattr(MemoryModelRegistry, "load", load)
    assert (await rig.restart()).models.champions == {"tickets": LearnedModel(digest="m2")}
