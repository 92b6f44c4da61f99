"""Upgrade and migration as stages."""

import math

import pytest

from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import IntentKind
from controlplane.domain.operations.change_gates import Gate
from controlplane.domain.operations.change_templates import STEPS, Pace, migration, upgrade

PACE = Pace(hold_s=5.0, over_s=20.0, return_s=30.0, gate=Gate(most_error_ratio=0.01))


def test_an_upgrade_takes_one_center_after_the_other() -> None:
    stages = upgrade(("east", "west"), (), PACE)
    assert [(stage.title, stage.undoes, stage.hold_s) for stage in stages] == [
        ("drain east", (), 20.0),
        ("upgrade east, then go on", (), None),
        ("bring east back", (0,), 30.0),
        ("drain west", (), 20.0),
        ("upgrade west, then go on", (), None),
        ("bring west back", (3,), 30.0),
    ]
    (drain,) = stages[0].orders
    assert (drain.kind, drain.target.subject) == (IntentKind.DRAIN, "datacenter/east")
    assert (drain.over_s, drain.return_s) == (20.0, 30.0)


def test_an_upgrade_of_named_services() -> None:
    orders = upgrade(("east",), ("shop", "pay"), PACE)[0].orders
    assert [order.target.service for order in orders] == ["shop", "pay"]


SHARES = {
    "shop": {"east": 0.6, "west": 0.1, "south": 0.3},
    "pay": {"east": 1.0, "west": 0.0},
    "left": {"east": 0.0, "west": 1.0},
    "only": {"east": 1.0},
}


def test_a_migration_moves_what_the_old_one_has() -> None:
    stages = migration(SHARES, ("east", "west"), STEPS, PACE)
    assert [stage.title for stage in stages][:2] == [
        "10 % of east to west",
        "25 % of east to west",
    ]
    for stage in stages:
        assert [order.target.service for order in stage.orders] == ["pay", "shop"]
        assert all(
            math.isclose(sum(share for _, share in order.shares), 1.0) for order in stage.orders
        )
    _, shop = stages[-1].orders
    assert dict(shop.shares) == pytest.approx({"east": 0.0, "west": 0.7, "south": 0.3})


@pytest.mark.parametrize("steps", [(), (0.5,), (0.5, 0.4, 1.0), (0.0, 1.0)])
def test_steps_rise_to_one(steps: tuple[float, ...]) -> None:
    with pytest.raises(Invalid, match="rise from above 0 to 1"):
        migration(SHARES, ("east", "west"), steps, PACE)


@pytest.mark.parametrize("move", [("east", "north"), ("south", "south"), ("north", "east")])
def test_something_must_move(move: tuple[str, str]) -> None:
    with pytest.raises(Invalid, match="no service has traffic"):
        migration(SHARES, move, STEPS, PACE)
