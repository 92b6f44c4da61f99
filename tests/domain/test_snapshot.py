import random
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import ServiceClass
from controlplane.domain.snapshot import Section, assemble, decode, encode
from controlplane.domain.topology import Fleet, GatewayGroup, Pool
from controlplane.domain.units import BASIS_POINTS
from tests.builders import cluster, fleet, service

T = TypeVar("T")

SHARES = {"beijing-1": 0.6, "beijing-2": 0.4}


def wide() -> Fleet:
    names = [f"service-{n}" for n in range(12)]
    return replace(
        fleet(*(service(name) for name in names)),
        gateways=tuple(GatewayGroup(name=f"group-{n}", listen_port=10_000 + n) for n in range(4)),
        routes=tuple(
            Route(id=f"{name}-{n}", service=name, path=PathMatch(value=f"/{name}/{n}"))
            for name in names
            for n in range(3)
        ),
    )


def shuffled(facts: Fleet, rng: random.Random) -> Fleet:
    def mixed(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(rng.sample(values, len(values)))

    return Fleet(
        datacenters=mixed(facts.datacenters),
        services=tuple(
            replace(
                each,
                clusters=tuple(
                    replace(c, endpoints=mixed(c.endpoints)) for c in mixed(each.clusters)
                ),
                static_shares=mixed(each.static_shares),
            )
            for each in mixed(facts.services)
        ),
        gateways=mixed(facts.gateways),
        routes=mixed(facts.routes),
    )


def test_input_shuffled_a_hundred_times_gives_the_same_bytes() -> None:
    facts = wide()
    shares = {each.name: SHARES for each in facts.services}
    first = build(facts, shares)
    for seed in range(100):
        rng = random.Random(seed)
        names = rng.sample(list(shares), len(shares))
        mixed_shares = {name: dict(rng.sample(list(SHARES.items()), 2)) for name in names}
        again = build(shuffled(facts, rng), mixed_shares)
        assert again.version == first.version
        assert again.sections == first.sections


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), share=st.floats(0.01, 0.99))
def test_any_order_and_any_share(seed: int, share: float) -> None:
    facts = wide()
    shares = {s.name: {"beijing-1": share, "beijing-2": 1 - share} for s in facts.services}
    again = build(shuffled(facts, random.Random(seed)), shares)
    assert again.version == build(facts, shares).version
    for weights in again.content.weights.weights:
        assert sum(weights.weights.values()) == BASIS_POINTS


def test_there_and_back() -> None:
    made = build(wide(), {each.name: SHARES for each in wide().services})
    back = decode(encode(made), revision=7)
    assert back == replace(made, revision=7)
    with pytest.raises(Invalid):
        decode(b"{}x", revision=1)


def test_a_section_changes_alone() -> None:
    before = build(fleet(), {"tickets": SHARES})
    after = build(fleet(), {"tickets": {"beijing-1": 0.5, "beijing-2": 0.5}})
    changed = {s for s in Section if before.digests[s] != after.digests[s]}
    assert changed == {Section.WEIGHTS}
    assert before.version != after.version


def test_capacity_and_strategy_are_no_configuration() -> None:
    one = service()
    other = replace(one, clusters=(replace(one.clusters[0], capacity_rps=1.0), one.clusters[1]))
    shares = {"tickets": SHARES}
    assert build(fleet(one), shares).version == build(fleet(other), shares).version


def test_pools_and_classes_are_no_configuration() -> None:
    one = service()
    first, second = one.clusters
    pooled = replace(first, capacity_rps=0.0, servers=None, pool="p", cost=2.0)
    other = replace(one, clusters=(pooled, second), class_of_service=ServiceClass.BEST_EFFORT)
    declared = replace(
        fleet(other), pools=(Pool(name="p", datacenter="beijing-1", capacity_rps=160.0),)
    )
    shares = {"tickets": SHARES}
    assert build(fleet(one), shares).version == build(declared, shares).version


def test_a_center_without_endpoints_gets_no_weight() -> None:
    bare = replace(
        service(), clusters=(service().clusters[0], cluster("beijing-2", 50.0, range(0)))
    )
    made = build(fleet(bare), {"tickets": SHARES})
    assert dict(made.content.weights.weights[0].weights) == {"beijing-1": 10_000, "beijing-2": 0}


@pytest.mark.parametrize("shares", [{}, {"beijing-1": 0.0}, {"moon": 1.0}])
def test_a_service_without_a_positive_share_is_refused(shares: dict[str, float]) -> None:
    with pytest.raises(Invalid, match="tickets") as caught:
        build(fleet(), {"tickets": shares})
    assert caught.value.code == "no_positive_weight"


def test_nothing_declared_is_a_snapshot_too() -> None:
    made = build(Fleet(), {})
    assert made == assemble(made.content)
    assert made.revision == 0
