from dataclasses import replace
from typing import Any

import pytest

from controlplane.domain.errors import Conflict, Invalid, NotFound, Refused
from controlplane.domain.findings import Source
from controlplane.domain.promotions import Alias, PromotionEvent
from controlplane.domain.strategies.situation import LearnedModel
from tests.builders import OPERATOR, fleet, service
from tests.engine.rig import Rig
from tests.fakes.stores import MemoryModelRegistry


async def _rig() -> Rig:
    rig = Rig()
    await rig.declare(fleet(service("orders"), service("tickets")))
    return rig


async def _enroll(rig: Rig, digest: str, service: str = "tickets") -> None:
    await rig.models.enroll(f"{service}:{digest}".encode(), OPERATOR)


async def _events(rig: Rig, service: str = "tickets") -> list[tuple[PromotionEvent, str]]:
    return [(step.event, step.model) for step in await rig.models.promotions(service, 99)][::-1]


def _findings(rig: Rig) -> list[tuple[str, str]]:
    return [
        (one.observation.code, one.observation.subject)
        for one in rig.instruments.findings.standing()
        if one.source is Source.MODELS
    ]


async def test_an_enrolled_model_is_the_challenger_in_the_shadow_and_decides_nothing() -> None:
    rig = await _rig()
    stored = await rig.models.enroll(b"tickets:m1", OPERATOR, "trained on June")
    assert stored.aliases == (Alias.CHALLENGER, Alias.SHADOW)
    assert rig.models.champions == {}
    assert rig.models.shadows == {"tickets": LearnedModel(digest="m1")}
    added, enrolled = rig.stores.audit.entries[-2:]
    assert (added.action, added.subject) == ("model.add", "service/tickets model/m1")
    assert (enrolled.action, enrolled.subject) == ("model.enroll", "service/tickets")
    for entry in (added, enrolled):
        assert (entry.author, entry.reason) == ("operator", "trained on June")


async def test_a_promoted_model_is_used_in_the_next_cycle_and_leaves_the_shadow() -> None:
    rig = await _rig()
    await rig.tick()
    assert rig.loop.decisions["tickets"].model == ""
    for digest in ("m1", "m2"):
        await _enroll(rig, digest)
        await rig.models.promote("tickets", digest, OPERATOR, "better")
        rig.clock.time_s += 300
        await rig.tick()
        assert rig.loop.decisions["tickets"].model == digest
        assert rig.loop.decisions["orders"].model == ""
        assert rig.models.shadows == {}
    entry = rig.stores.audit.entries[-1]
    assert (entry.action, entry.subject) == ("model.promote", "service/tickets")
    assert (entry.before, entry.after) == ("m1", "m2")
    assert [(m.digest, m.aliases) for m in await rig.models.all()] == [
        ("m2", (Alias.CHAMPION,)),
        ("m1", ()),
    ]


async def test_a_restart_loads_champions_and_shadows() -> None:
    rig = await _rig()
    await _enroll(rig, "m1")
    await rig.models.promote("tickets", "m1", OPERATOR)
    await _enroll(rig, "m2")
    again = (await rig.restart()).models
    assert again.champions == {"tickets": LearnedModel(digest="m1")}
    assert again.shadows == {"tickets": LearnedModel(digest="m2")}
    assert again.since_s == rig.models.since_s == {"tickets": rig.clock.time_s}


async def test_a_rollback_goes_back_and_never_forth() -> None:
    rig = await _rig()
    for digest in ("m1", "m2", "m3"):
        await _enroll(rig, digest)
        await rig.models.promote("tickets", digest, OPERATOR)
    assert await rig.models.roll_back("tickets", OPERATOR, "slow") == "m2"
    assert rig.models.champions["tickets"].digest == "m2"
    assert await rig.models.roll_back("tickets", OPERATOR) == "m1"
    with pytest.raises(Conflict, match="no champion before"):
        await rig.models.roll_back("tickets", OPERATOR)
    assert (await _events(rig))[-2:] == [
        (PromotionEvent.ROLLED_BACK, "m2"),
        (PromotionEvent.ROLLED_BACK, "m1"),
    ]
    assert (await rig.restart()).models.champions == {"tickets": LearnedModel(digest="m1")}


async def test_an_upload_of_what_is_promoted_meanwhile_is_no_challenger_of_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    await _enroll(rig, "m1")
    add = MemoryModelRegistry.add

    async def slow(*arguments: Any) -> Any:
        stored = await add(*arguments)
        await rig.models.promote("tickets", "m1", OPERATOR)
        return stored

    monkeypatch.setattr(MemoryModelRegistry, "add", slow)
    stored = await rig.models.enroll(b"tickets:m1", OPERATOR)
    assert stored.aliases == (Alias.CHAMPION,)
    assert rig.models.shadows == (await rig.restart()).models.shadows == {}
    assert [event for event, _ in await _events(rig)] == [
        PromotionEvent.ENROLLED,
        PromotionEvent.PROMOTED,
    ]


async def test_what_is_not_declared_or_not_of_the_service_is_not_promoted() -> None:
    rig = await _rig()
    await _enroll(rig, "m1", "orders")
    for call in (rig.models.promote("other", "m1", OPERATOR), rig.models.promotions("other", 1)):
        with pytest.raises(NotFound, match="service other"):
            await call
    with pytest.raises(NotFound, match="service other"):
        await rig.models.roll_back("other", OPERATOR)
    with pytest.raises(NotFound, match="no model m1"):
        await rig.models.promote("tickets", "m1", OPERATOR)
    assert rig.models.champions == {}


async def test_a_refused_model_stays_the_challenger_also_after_a_restart() -> None:
    rig = await _rig()
    await _enroll(rig, "m1")
    await rig.models.refuse("tickets", "other", "not this one")
    assert rig.models.refused == {}
    await rig.models.refuse("tickets", "m1", "too wrong")
    assert rig.models.shadows == {}
    assert [m.aliases for m in await rig.models.all()] == [(Alias.CHALLENGER,)]
    assert (await rig.restart()).models.refused["tickets"].reason == "too wrong"
    await _enroll(rig, "m2")
    assert rig.models.refused == {}


async def test_a_demotion_is_written_down_once() -> None:
    rig = await _rig()
    await _enroll(rig, "m1")
    await rig.models.promote("tickets", "m1", OPERATOR)
    for _ in range(2):
        await rig.models.demoted("tickets", "m1", "lost its skill")
    assert (await _events(rig))[-2:] == [
        (PromotionEvent.PROMOTED, "m1"),
        (PromotionEvent.DEMOTED, "m1"),
    ]
    assert rig.stores.audit.entries[-1].author == "signalbox"
    # A restarted process sees it anew, though a challenger has come and gone since.
    await _enroll(rig, "m2")
    await rig.models.refuse("tickets", "m2", "too wrong")
    again = await rig.restart()
    await again.models.demoted("tickets", "m1", "lost its skill")
    assert [event for event, _ in await _events(again)].count(PromotionEvent.DEMOTED) == 1
    assert again.models.refused["tickets"].reason == "too wrong"


def _object(monkeypatch: pytest.MonkeyPatch, digest: str, words: str) -> None:
    """Let a model have failed its examination."""
    _change(monkeypatch, digest, objection=words)


def _change(monkeypatch: pytest.MonkeyPatch, digest: str, **changes: Any) -> None:
    plain = MemoryModelRegistry.by_digest

    async def by_digest(store: MemoryModelRegistry, wanted: str) -> LearnedModel:
        model = await plain(store, wanted)
        return replace(model, **changes) if wanted == digest else model

    monkeypatch.setattr(MemoryModelRegistry, "by_digest", by_digest)


async def test_a_model_that_failed_its_examination_stays_out_of_the_shadow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    _object(monkeypatch, "bad", "label_follows: shuffled")
    await _enroll(rig, "m1")
    stored = await rig.models.enroll(b"tickets:bad", OPERATOR, "weekly")
    assert stored.aliases == (Alias.CHALLENGER,)
    # The trial of another one goes on.
    assert rig.models.shadows == {"tickets": LearnedModel(digest="m1")}
    step = rig.models.refused["tickets"]
    assert (step.model, step.author, step.reason) == ("bad", "signalbox", "label_follows: shuffled")
    assert (await rig.restart()).models.refused["tickets"].model == "bad"


async def test_laws_of_other_data_centers_stay_out_of_the_shadow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    _change(monkeypatch, "other", centers=("beijing-1", "shanghai-1", "shanghai-2"))
    _change(monkeypatch, "more", centers=("shanghai-1", "beijing-2", "beijing-1"))
    await _enroll(rig, "other")
    assert rig.models.shadows == {}
    assert rig.models.refused["tickets"].reason.startswith("centers_unknown")
    await _enroll(rig, "more")
    assert rig.models.shadows["tickets"].digest == "more"


async def test_it_is_promoted_only_by_force_and_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    _object(monkeypatch, "bad", "label_follows: shuffled")
    await _enroll(rig, "bad")
    for reason, force in (("", False), ("I know", False), ("", True)):
        with pytest.raises(Refused, match="label_follows: shuffled") as raised:
            await rig.models.promote("tickets", "bad", OPERATOR, reason, force=force)
        assert raised.value.code == "examination_failed"
    assert rig.models.champions == {}
    await rig.models.promote("tickets", "bad", OPERATOR, "I know", force=True)
    assert rig.models.champions["tickets"].digest == "bad"
    newest = (await rig.models.promotions("tickets", 1))[0]
    assert newest.reason == "forced: I know (against label_follows: shuffled)"
    assert (await rig.models.all("tickets"))[0].aliases == (Alias.CHAMPION,)


def _damage(monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    sound = MemoryModelRegistry.by_digest

    async def by_digest(store: MemoryModelRegistry, wanted: str) -> LearnedModel:
        if wanted == digest:
            raise Invalid("model_damaged", "its files are gone")
        return await sound(store, wanted)

    monkeypatch.setattr(MemoryModelRegistry, "by_digest", by_digest)


async def test_a_damaged_champion_is_a_finding_and_the_start_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    rig.stores.models.put("orders", Alias.CHAMPION, LearnedModel(digest="m1"))
    rig.stores.models.put("tickets", Alias.CHAMPION, LearnedModel(digest="m2"))
    with monkeypatch.context() as patched:
        _damage(patched, "m1")
        again = await rig.restart()
    assert again.models.champions == {"tickets": LearnedModel(digest="m2")}
    assert _findings(again) == [("model_damaged", "service/orders model/m1")]
    await _enroll(again, "m1", "orders")
    assert again.models.champions["orders"] == LearnedModel(digest="m1")
    assert _findings(again) == []


async def test_a_damaged_model_does_not_become_champion_and_is_none_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await _rig()
    await _enroll(rig, "m1")
    await rig.models.promote("tickets", "m1", OPERATOR)
    await _enroll(rig, "m2")
    with monkeypatch.context() as patched:
        _damage(patched, "m2")
        with pytest.raises(Invalid):
            await rig.models.promote("tickets", "m2", OPERATOR)
    assert rig.models.champions["tickets"].digest == "m1"
    assert (await rig.restart()).models.champions["tickets"].digest == "m1"


async def test_a_service_that_is_declared_later_has_its_champion() -> None:
    rig = Rig()
    rig.stores.models.put("tickets", Alias.CHAMPION, LearnedModel(digest="m1"))
    await rig.declare(fleet(service("orders")))
    again = await rig.restart()
    await again.declare(fleet(service("orders"), service("tickets")))
    await again.tick()
    assert again.loop.decisions["tickets"].model == "m1"
