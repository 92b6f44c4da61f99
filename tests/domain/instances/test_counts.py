"""Weights as small whole numbers."""

from controlplane.domain.instances.counts import counted
from controlplane.domain.instances.placement import Instance, Site


def _site(weight: int, *parts: int) -> Site:
    instances = tuple(
        Instance(address="127.0.0.1", port=n, datacenter="east") for n in range(len(parts))
    )
    return Site(datacenter="east", region="r", weight=weight, instances=instances, parts=parts)


def test_the_largest_is_what_the_plane_counts_to() -> None:
    sites = (_site(9_000, 1, 1), _site(1_000, 1, 3))
    assert [weights for _, weights in counted(sites, 256)] == [[256, 256], [14, 43]]
    assert [weights for _, weights in counted((_site(0, 1),), 10)] == [[10]]
    assert [weights for _, weights in counted((_site(9_999, 1), _site(1, 1)), 10)] == [[10], [1]]
    assert list(counted((), 10)) == []
