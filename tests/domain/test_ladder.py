"""The rungs of the ladder."""

from dataclasses import replace

import pytest

from controlplane.domain.guardrails.state import Demotion, GuardState
from controlplane.domain.ladder import Climber, Rung, rung, standing_demotion
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from tests.domain.two_centers import make_service
from tests.ports.examples import decision

CHAMPION, SHADOW = LearnedModel(digest="m1"), LearnedModel(digest="m2")
BY_CPU = replace(decision(1000.0), strategy="cpu_equalizer")
BY_LAWS = replace(decision(1000.0), strategy="observed_laws")
BY_CAPACITY = replace(decision(1000.0), strategy="capacity")
LOST = replace(BY_CPU, state=GuardState(demotion=Demotion(model="m1", time_s=900.0, reason="lost")))
NEW = Climber(
    service=make_service(StrategyName.HYBRID),
    champion=None,
    shadow=None,
    since_s=0.0,
    decision=None,
)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Rung.CAPACITY),
        ({"decision": BY_CAPACITY}, Rung.CAPACITY),
        ({"decision": BY_CPU}, Rung.EQUALIZER),
        ({"decision": BY_LAWS}, Rung.LAWS),
        ({"decision": BY_LAWS, "champion": CHAMPION}, Rung.LIVE),
        ({"decision": replace(LOST, strategy="hybrid"), "champion": CHAMPION}, Rung.CAPACITY),
        ({"decision": replace(LOST, strategy="observed_laws"), "champion": CHAMPION}, Rung.LAWS),
        ({"decision": BY_CPU, "shadow": SHADOW}, Rung.SHADOW),
        ({"decision": BY_CPU, "champion": CHAMPION}, Rung.LIVE),
        ({"decision": LOST, "champion": CHAMPION}, Rung.EQUALIZER),
        ({"decision": LOST, "champion": CHAMPION, "shadow": SHADOW}, Rung.SHADOW),
        ({"decision": LOST, "champion": CHAMPION, "since_s": 950.0}, Rung.LIVE),
        ({"decision": LOST, "champion": SHADOW}, Rung.LIVE),
        ({"service": make_service(StrategyName.STATIC), "champion": CHAMPION}, Rung.RULE),
    ],
)
def test_where_a_service_stands(values: dict[str, object], expected: Rung) -> None:
    assert rung(replace(NEW, **values)) is expected  # type: ignore[arg-type]


def test_a_model_of_other_data_centers_is_not_live() -> None:
    names = [cluster.datacenter for cluster in NEW.service.clusters]
    known = replace(CHAMPION, centers=(*reversed(names), "elsewhere"))
    of = replace(NEW, champion=known, decision=BY_LAWS)
    assert rung(of) is Rung.LIVE
    assert rung(replace(of, champion=replace(CHAMPION, centers=("a", "b", "c")))) is Rung.LAWS
    third = replace(of.service.clusters[0], datacenter="third")
    three = replace(of.service, clusters=(*of.service.clusters, third))
    assert rung(replace(of, champion=CHAMPION, service=three)) is Rung.LAWS


def test_a_demotion_stands_until_the_next_promotion() -> None:
    assert standing_demotion(LOST, CHAMPION, 800.0) == LOST.state.demotion
    assert standing_demotion(LOST, CHAMPION, 900.0) is None
    assert standing_demotion(None, CHAMPION, 0.0) is None
    assert standing_demotion(LOST, None, 0.0) is None
