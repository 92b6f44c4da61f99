from dataclasses import replace

import pytest

from controlplane.domain.errors import NotFound
from controlplane.domain.topology import Pool, resolved
from tests.builders import fleet, service


def test_find_by_name() -> None:
    facts = fleet(service("a"), service("b"))
    assert facts.service("b").name == "b"
    unordered = fleet(service("b"), service("a"), service("c"))
    assert [unordered.service(name).name for name in "abc"] == ["a", "b", "c"]


def test_what_is_not_declared_is_named() -> None:
    with pytest.raises(NotFound, match="nowhere") as caught:
        fleet().service("nowhere")
    assert caught.value.code == "service_not_found"


def test_a_shared_pool_describes_the_machines_of_its_clusters() -> None:
    one = service()
    own, other = one.clusters
    pooled = replace(other, capacity_rps=0.0, servers=None, pool="p", cost=4.0)
    pool = Pool(name="p", datacenter="beijing-2", capacity_rps=200.0, servers=7, idle_cpu=0.1)
    facts = replace(fleet(replace(one, clusters=(own, pooled))), pools=(pool,))
    found = resolved(facts, facts.services[0]).clusters
    assert found[0] == own
    assert (found[1].capacity_rps, found[1].servers, found[1].idle_cpu) == (50.0, 7, 0.1)
    assert resolved(facts, one) is one


def test_several_clusters_of_a_data_center_are_resolved_into_one() -> None:
    one = service()
    spare = replace(one.clusters[0], name="spare", standby=True)
    several = replace(one, clusters=(*one.clusters, spare))
    assert resolved(fleet(several), several).clusters == several.centers == one.clusters


def test_clusters_on_one_pool_count_it_once() -> None:
    one = service()
    own, other = one.clusters
    pooled = replace(own, capacity_rps=0.0, servers=None, pool="p", cost=2.0)
    several = replace(one, clusters=(pooled, replace(pooled, name="b"), other))
    pool = Pool(name="p", datacenter="beijing-1", capacity_rps=300.0, servers=7, idle_cpu=0.1)
    found = resolved(replace(fleet(several), pools=(pool,)), several).clusters
    assert (found[0].capacity_rps, found[0].servers, found[0].idle_cpu) == (150.0, 7, 0.1)
