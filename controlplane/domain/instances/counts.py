"""Weights as small whole numbers, for data planes that do not count far."""

from collections.abc import Iterator

from controlplane.domain.instances.placement import Site


def counted(sites: tuple[Site, ...], heaviest: int) -> Iterator[tuple[Site, list[int]]]:
    """Weights of the instances of each site, the largest `heaviest`, none below 1.

    So a share is exact to half of the largest instance's, divided by `heaviest`.
    """
    parts = [
        [max(site.weight, 1) * part / sum(site.parts) for part in site.parts] for site in sites
    ]
    most = max((part for each in parts for part in each), default=1.0)
    for site, each in zip(sites, parts, strict=True):
        yield site, [max(1, round(part / most * heaviest)) for part in each]
