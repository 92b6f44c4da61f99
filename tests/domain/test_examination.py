"""The champion sees what the rows of a training cannot."""

from dataclasses import replace

import pytest

from controlplane.domain.examination import objection_to
from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.situation import LearnedModel

NEAR = CenterLaw(base_ms=20.0, contention=0.1, wait_ms=3.0, servers=8.0)
FAR = replace(NEAR, base_ms=60.0)
CHAMPION = LearnedModel(digest="m1", laws=(NEAR, FAR))


def with_laws(*laws: CenterLaw) -> LearnedModel:
    return LearnedModel(digest="m2", laws=laws)


def scaled(law: CenterLaw, factor: float) -> CenterLaw:
    return replace(law, base_ms=law.base_ms * factor, wait_ms=law.wait_ms * factor)


def test_nothing_speaks_against_a_model_like_the_champion() -> None:
    slower = with_laws(scaled(NEAR, 2.0), scaled(FAR, 0.7))
    for model in (CHAMPION, slower, with_laws(), with_laws(NEAR)):
        assert objection_to(model, CHAMPION) == ""
    assert objection_to(slower, None) == ""


def test_its_own_examination_counts_without_a_champion() -> None:
    model = replace(CHAMPION, objection="label_follows: shuffled")
    assert objection_to(model, None) == "label_follows: shuffled"


@pytest.mark.parametrize("factor", [1e-3, 1 / 60, 60.0, 1e3])
def test_another_unit_in_all_rows(factor: float) -> None:
    words = objection_to(with_laws(scaled(NEAR, factor), scaled(FAR, factor)), CHAMPION)
    assert words.startswith("level_changed")
    assert "level_changed" in objection_to(with_laws(NEAR, scaled(FAR, factor)), CHAMPION)


def test_exchanged_centers() -> None:
    assert objection_to(with_laws(FAR, NEAR), CHAMPION).startswith("centers_exchanged")
    # Centres that are alike tell nothing.
    alike = LearnedModel(digest="m1", laws=(NEAR, scaled(NEAR, 1.2)))
    assert objection_to(with_laws(*reversed(alike.laws)), alike) == ""


def test_laws_of_other_centers_are_not_compared() -> None:
    champion = replace(CHAMPION, centers=("a", "b"))
    slow = with_laws(scaled(NEAR, 1e3), scaled(FAR, 1e3))
    assert objection_to(replace(slow, centers=("a", "c")), champion) == ""
    assert objection_to(replace(slow, centers=("a", "b")), champion).startswith("level_changed")


def test_laws_beyond_floats_are_another_level_and_nothing_else() -> None:
    beyond = replace(NEAR, base_ms=1e308, contention=1e308)
    words = objection_to(with_laws(beyond, beyond), CHAMPION)
    assert words.startswith("level_changed")
    assert "exchanged" not in words


def test_laws_of_data_centers_that_the_service_has_not() -> None:
    named = replace(CHAMPION, centers=("a", "b"))
    assert objection_to(named, None, ("b", "a")) == ""
    assert objection_to(named, None) == ""
    assert objection_to(CHAMPION, None, ("a", "b", "c")) == ""
    words = "centers_unknown: its laws are of a, b, the service is in a, c"
    assert objection_to(named, None, ("a", "c")) == words


def test_more_centers_are_not_exchanged() -> None:
    champion = LearnedModel(digest="m1", laws=(NEAR, FAR, NEAR))
    assert objection_to(with_laws(FAR, NEAR, FAR), champion) == ""
    both = replace(champion, digest="m2", laws=(NEAR, FAR, scaled(NEAR, 100.0)), objection="a: b")
    words = objection_to(both, champion)
    assert words.startswith("a: b; level_changed")
