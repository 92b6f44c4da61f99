"""The shares in force as published, since when, and what was in force before."""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.suspicion.past import InForce
from controlplane.engine.publishing import shares as module
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import SharesInForce
from tests.builders import fleet
from tests.engine.rig import START_S, Clock

CENTERS = ("beijing-1", "beijing-2")


def _play(splits: Iterable[float]) -> SharesInForce:
    """Publish one split after the other, a minute apart, read after each."""
    clock, publication = Clock(), Publication()
    seen = SharesInForce(publication, clock.now)
    for revision, share in enumerate(splits, 1):
        wanted = {"tickets": dict(zip(CENTERS, (share, 1.0 - share), strict=True))}
        built = build(fleet(), wanted)
        publication.publish(replace(built, revision=revision))
        seen.of("tickets")
        clock.time_s += 60.0
    return seen


def test_nothing_is_known_before_the_first_snapshot() -> None:
    seen = SharesInForce(Publication(), Clock().now)
    assert seen.of("tickets") == ({}, 0.0)
    assert seen.earlier("tickets") == ()
    assert SharesInForce(None, Clock().now).all() == {}


def test_a_move_is_remembered_and_what_did_not_move_is_none() -> None:
    seen = _play((0.6, 0.6, 0.5))
    assert seen.of("tickets") == ({"beijing-1": 0.5, "beijing-2": 0.5}, START_S + 120.0)
    (before,) = seen.earlier("tickets")
    assert before == InForce(since_s=START_S, shares={"beijing-1": 0.6, "beijing-2": 0.4})


def test_only_the_last_few_are_remembered() -> None:
    seen = _play(0.3 + step / 100 for step in range(module.KEPT + 3))
    kept = [split.shares["beijing-1"] for split in seen.earlier("tickets")]
    assert kept == [0.32 + step / 100 for step in range(module.KEPT)]


def test_what_centers_bear_is_not_known_where_each_region_has_a_split() -> None:
    clock, publication = Clock(), Publication()
    seen = SharesInForce(publication, clock.now)
    home = {"beijing-1": 1.0, "beijing-2": 0.0}
    away = {"beijing-1": 0.5, "beijing-2": 0.5}
    built = build(fleet(), {"tickets": away}, {"tickets": {"north": home, "south": away}})
    publication.publish(replace(built, revision=1))
    assert seen.of("tickets") == ({}, START_S)
    # As good as can be told, for who asks how much a change would move.
    assert seen.all() == {"tickets": {"beijing-1": 0.75, "beijing-2": 0.25}}
