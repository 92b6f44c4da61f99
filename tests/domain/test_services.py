from dataclasses import replace

import pytest

from controlplane.domain.errors import NotFound
from controlplane.domain.services import LoadBalancing
from tests.builders import service


def test_the_cluster_of_a_data_center_is_found_by_name() -> None:
    assert service().cluster("beijing-2").capacity_rps == 50.0
    with pytest.raises(NotFound, match="moon") as caught:
        service("tickets").cluster("moon")
    assert caught.value.code == "cluster_not_found"


def test_clusters_of_one_data_center_are_one_to_decide_about() -> None:
    one = service()
    own, other = one.clusters
    described = replace(own, name="a", idle_cpu=0.1, full_cpu=0.9)
    second = replace(described, name="b", capacity_rps=240.0, idle_cpu=0.3, servers=2)
    spare = replace(own, name="spare", standby=True)
    several = replace(one, clusters=(described, second, spare, other))
    first, last = several.centers
    assert last is other
    assert (first.capacity_rps, first.servers, first.standby) == (320.0, 10, False)
    assert (first.idle_cpu, first.full_cpu) == (pytest.approx(0.25), pytest.approx(0.9))
    assert first.endpoints == (*described.endpoints, *second.endpoints)
    assert several.cluster("beijing-1") == first
    assert one.centers is one.clusters
    open_ended = replace(one, clusters=(described, replace(second, servers=None, idle_cpu=None)))
    assert (open_ended.centers[0].servers, open_ended.centers[0].idle_cpu) == (None, None)


def test_hashes_keep_a_user_on_an_endpoint() -> None:
    sticky = {policy for policy in LoadBalancing if policy.sticky}
    assert sticky == {LoadBalancing.MAGLEV, LoadBalancing.BOUNDED_HASH}
