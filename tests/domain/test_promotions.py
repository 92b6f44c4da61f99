"""Aliases are what the log comes to."""

import pytest

from controlplane.domain.promotions import (
    Alias,
    Promotion,
    PromotionEvent,
    aliases_after,
    earlier_champion,
    in_service_since_s,
    is_demoted,
)

PROMOTED, BACK = PromotionEvent.PROMOTED, PromotionEvent.ROLLED_BACK


def step(event: PromotionEvent, model: str, before: str = "", time_s: float = 1.0) -> Promotion:
    return Promotion(time_s=time_s, service="tickets", event=event, model=model, before=before)


def story(*steps: tuple[PromotionEvent, str]) -> dict[Alias, str]:
    aliases: dict[Alias, str] = {}
    for event, model in steps:
        aliases = aliases_after(aliases, step(event, model))
    return aliases


def test_a_model_comes_as_challenger_into_the_shadow_and_becomes_champion() -> None:
    enrolled = (PromotionEvent.ENROLLED, "m1")
    assert story(enrolled) == {Alias.CHALLENGER: "m1", Alias.SHADOW: "m1"}
    assert story(enrolled, (PROMOTED, "m1")) == {Alias.CHAMPION: "m1"}
    assert story(enrolled, (PROMOTED, "m0")) == {
        Alias.CHALLENGER: "m1",
        Alias.SHADOW: "m1",
        Alias.CHAMPION: "m0",
    }


def test_a_refused_one_stays_a_challenger() -> None:
    enrolled, refused = (PromotionEvent.ENROLLED, "m1"), (PromotionEvent.REFUSED, "m1")
    assert story(enrolled, refused) == {Alias.CHALLENGER: "m1"}
    # Also one that never came into the shadow, beside one that is there.
    assert story(enrolled, (PromotionEvent.REFUSED, "m0")) == {
        Alias.CHALLENGER: "m0",
        Alias.SHADOW: "m1",
    }
    assert story((PROMOTED, "m1"), refused) == {Alias.CHAMPION: "m1"}


def test_a_demoted_champion_stays_champion_and_is_never_its_own_challenger() -> None:
    assert story((PROMOTED, "m1"), (PromotionEvent.DEMOTED, "m1")) == {Alias.CHAMPION: "m1"}
    assert story((PROMOTED, "m1"), (PromotionEvent.ENROLLED, "m1")) == {Alias.CHAMPION: "m1"}


@pytest.mark.parametrize(
    ("log", "earlier"),
    [
        ([], ""),
        ([(PROMOTED, "m1")], ""),
        ([(PROMOTED, "m1"), (PROMOTED, "m1")], ""),
        ([(PROMOTED, "m1"), (PROMOTED, "m2")], "m1"),
        ([(PROMOTED, "m1"), (PROMOTED, "m2"), (PromotionEvent.DEMOTED, "m2")], "m1"),
        ([(PROMOTED, "m1"), (PROMOTED, "m2"), (PROMOTED, "m3"), (BACK, "m2")], "m1"),
        ([(PROMOTED, "m1"), (PROMOTED, "m2"), (BACK, "m1")], ""),
        ([(PROMOTED, "m0"), (PROMOTED, "m1"), (PROMOTED, "m2"), (BACK, "m0")], ""),
        (
            [(PROMOTED, "m0"), (PROMOTED, "m1"), (PROMOTED, "m2"), (PROMOTED, "m3"), (BACK, "m1")],
            "m0",
        ),
        ([*((PROMOTED, m) for m in ("m1", "m2", "m1", "m3")), (BACK, "m1")], "m2"),
        ([*((PROMOTED, m) for m in ("m1", "m2", "m1", "m3")), (BACK, "m1"), (BACK, "m2")], "m1"),
        ([(PROMOTED, "m1"), (PROMOTED, "m2"), (BACK, "m1"), (PROMOTED, "m3")], "m1"),
        ([(PROMOTED, "m1"), (PROMOTED, "m2"), (PROMOTED, "m1")], "m2"),
    ],
)
def test_the_champion_before(log: list[tuple[PromotionEvent, str]], earlier: str) -> None:
    assert earlier_champion([step(event, model) for event, model in log]) == earlier


def test_a_champion_of_before_the_log_can_be_gone_back_to() -> None:
    assert earlier_champion([step(PROMOTED, "m2", before="m1")]) == "m1"
    assert earlier_champion([step(BACK, "m0", before="m1")]) == "m1"


def test_since_when_the_champion_is_in_service() -> None:
    steps = [step(PROMOTED, "m1", time_s=5.0), step(PromotionEvent.DEMOTED, "m1", time_s=9.0)]
    assert in_service_since_s(steps) == 5.0
    assert in_service_since_s(steps[1:]) == 0.0


def test_a_demotion_counts_until_a_champion_is_put_in_service_again() -> None:
    demoted, enrolled = (PromotionEvent.DEMOTED, "m1"), (PromotionEvent.ENROLLED, "m2")
    for steps, known in (
        ([], False),
        ([(PROMOTED, "m1"), demoted], True),
        ([(PROMOTED, "m1"), demoted, enrolled, (PromotionEvent.REFUSED, "m2")], True),
        ([(PROMOTED, "m1"), demoted, (PROMOTED, "m1")], False),
        ([(PROMOTED, "m1"), enrolled], False),
    ):
        log = [step(event, model) for event, model in steps]
        assert is_demoted(reversed(log), "m1") is known
