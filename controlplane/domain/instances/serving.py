"""Who serves now: what of a placement is left while some instances are out.

Called by clients whenever the configuration or somebody's health changes. What a data centre
cannot serve goes to its standby; without one the others share it, but only when it is much: few
missing instances are made up for by their neighbours.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from controlplane.domain.instances.placement import Placement, Site

# A data centre keeps its share while 1 / 1.4 = 71 % of it is well, as Envoy's factor of
# over-provisioning has it.
OVERPROVISIONING = 1.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Instances that are chosen among after their group was.

    Attributes:
        name: data centre, with `standby` behind it for its standby.
        weight: beside the other groups; >= 1.
        members: name -> part of the group's traffic.
    """

    name: str
    weight: int
    members: tuple[tuple[str, int], ...]


def serving(placement: Placement, out: Collection[str]) -> tuple[Group, ...]:
    """The groups that get traffic while the instances named `out` do not.

    Nor do those that the configuration takes out. When nothing is left, these are tried,
    and then all of them: a client that gives up is worse off than one that tries. Not so where the
    service is closed then. () without any instance.
    """
    worse = () if placement.closed else (out, ())
    for missing in (placement.out.union(out), *worse):
        if groups := _serving(placement, missing):
            return groups
    return ()


def _serving(placement: Placement, out: Collection[str]) -> tuple[Group, ...]:
    groups = tuple(_shared(placement, out))
    if groups:
        return groups
    for tier in placement.tiers:
        groups = tuple(
            _group(site, site.datacenter, float(site.weight or 1), out)
            for site in tier
            if _well(site, out) > 0
        )
        if groups:
            return groups
    return ()


def _shared(placement: Placement, out: Collection[str]) -> Iterable[Group]:
    standbys = {site.datacenter: site for site in placement.standby if _well(site, out) > 0}
    for site in placement.bearing:
        well, standby = _well(site, out), standbys.get(site.datacenter)
        kept = min(1.0, OVERPROVISIONING * well) if standby is None else well
        if kept > 0:
            yield _group(site, site.datacenter, site.weight * kept, out)
        if standby is not None and kept < 1:
            name = f"{site.datacenter} standby"
            yield _group(standby, name, site.weight * (1 - kept), out)


def _well(site: Site, out: Collection[str]) -> float:
    """Part of a site's traffic, 0..1, that belongs to instances which are not out."""
    if not out:
        return 1.0
    rows = zip(site.instances, site.parts, strict=True)
    return sum(part for one, part in rows if one.name not in out) / sum(site.parts)


def _group(site: Site, name: str, weight: float, out: Collection[str]) -> Group:
    rows = zip(site.instances, site.ratio, strict=True)
    return Group(
        name=name,
        weight=max(1, round(weight * 100)),
        members=tuple((one.name, part) for one, part in rows if one.name not in out),
    )
