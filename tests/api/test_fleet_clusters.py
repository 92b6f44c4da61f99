"""Clusters in a fleet document: several in one data centre, weights, standbys, versions."""

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized

HEAD = """datacenters:
  - {name: a, role: primary, region: r}
  - {name: b, role: same-city, region: r}
pools:
  - {name: p, datacenter: a, capacity_rps: 100}
services:
  - name: s
    clusters:
"""
ADDRESS = "endpoints: [{address: 10.0.0.1, port: 80, version: v2}]"
MAIN = f"      - {{datacenter: a, name: main, weight: 300, capacity_rps: 30, {ADDRESS}}}\n"
SIDE = f"      - {{datacenter: a, name: side, capacity_rps: 10, {ADDRESS}}}\n"
SPARE = f"      - {{datacenter: a, name: spare, standby: true, {ADDRESS}}}\n"
POOLED = f"      - {{datacenter: a, name: main, pool: p, {ADDRESS}}}\n"


def test_several_clusters_of_one_data_centre_read_back() -> None:
    fleet = parse(HEAD + SPARE + MAIN + SIDE)
    clusters = normalized(fleet).services[0].clusters
    assert [(c.name, c.weight, c.standby) for c in clusters] == [
        ("main", 300, False),
        ("side", 100, False),
        ("spare", 100, True),
    ]
    assert [c.capacity_rps for c in clusters] == [30.0, 10.0, 0.0]
    assert {e.version for c in clusters for e in c.endpoints} == {"v2"}
    assert [c.capacity_rps for c in fleet.services[0].centers] == [40.0]
    assert parse(render(fleet)) == normalized(fleet)


def test_clusters_on_one_pool_may_have_a_standby_of_its_own() -> None:
    second = POOLED.replace("name: main", "name: second")
    assert len(parse(HEAD + POOLED + second + SPARE).services[0].clusters) == 3


def test_shares_are_by_data_centre_however_many_clusters_it_has() -> None:
    fleet = parse(HEAD + MAIN + SIDE + "    static_shares: {a: 1}\n")
    assert fleet.services[0].static_shares == (("a", 1.0),)


@pytest.mark.parametrize(
    ("clusters", "path", "words"),
    [
        (MAIN + MAIN, "services[0].clusters[1]", "each only once"),
        (SPARE + SIDE.replace("datacenter: a", "datacenter: b"), "services[0].clusters", "a that"),
        (SPARE, "services[0].clusters", "at least one endpoint"),
        (POOLED + SIDE, "services[0].clusters", "one pool and cost"),
        (
            POOLED + POOLED.replace("name: main", "name: m, cost: 2"),
            "services[0].clusters",
            "one pool and cost",
        ),
        (MAIN.replace("300", "0"), "services[0].clusters[0].weight", "1..1000"),
        (MAIN.replace("300", "1001"), "services[0].clusters[0].weight", "1..1000"),
        (MAIN.replace("name: main", "name: 'a:b'"), "services[0].clusters[0].name", "1..63"),
        (
            MAIN + SPARE.replace("name: spare", "name: spare, weight: 5"),
            "services[0].clusters[1].weight",
            "no weight beside standby",
        ),
        (MAIN.replace("v2", "'*'"), "services[0].clusters[0].endpoints[0].version", "1..63"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(clusters: str, path: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(HEAD + clusters)
    (error,) = caught.value.details["errors"]  # type: ignore[misc]
    assert error["path"] == path
    assert words in error["allowed"]
