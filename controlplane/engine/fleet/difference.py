"""What a change of the fleet changes, item by item. Pure; called by `fleets` in a thread."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain import canonical
from controlplane.domain.topology import Fleet


class ChangeKind(StrEnum):
    """What happens to one item."""

    ADD = "add"
    REMOVE = "remove"
    CHANGE = "change"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """One item of a difference; before and after are canonical JSON, "" when absent."""

    kind: ChangeKind
    subject: str
    before: str = ""
    after: str = ""


def difference(before: Fleet, after: Fleet) -> tuple[ChangeLine, ...]:
    """The items that differ, by subject; both fleets are in canonical order."""
    old, new = _items(before), _items(after)
    # Values first: of ten thousand items the text of a few is needed.
    subjects = sorted(one for one in {*old, *new} if old.get(one) != new.get(one))
    return tuple(_line(subject, old, new) for subject in subjects)


def _items(fleet: Fleet) -> dict[str, object]:
    """Subject -> everything declared."""
    return {
        **{f"datacenter/{center.name}": center for center in fleet.datacenters},
        **{f"pool/{pool.name}": pool for pool in fleet.pools},
        **{f"service/{service.name}": service for service in fleet.services},
        **{f"gateway/{gateway.name}": gateway for gateway in fleet.gateways},
        **{f"route/{route.id}": route for route in fleet.routes},
        **{f"whitelist/{whitelist.id}": whitelist for whitelist in fleet.whitelists},
        **{f"l4_route/{route.id}": route for route in fleet.l4_routes},
        **{f"caller/{policy.name}": policy for policy in fleet.callers},
        **{f"consumer/{consumer.name}": consumer for consumer in fleet.consumers},
        **{f"certificate/{one.name}": one for one in fleet.certificates},
        **{f"zone/{zone.name}": zone for zone in fleet.zones},
        **{f"policy/{policy.name}": policy for policy in fleet.policies},
        **{f"source/{source.name}": source for source in fleet.metric_sources},
        **{f"release/{release.route.id}": release for release in fleet.releases},
    }


def _line(subject: str, old: Mapping[str, object], new: Mapping[str, object]) -> ChangeLine:
    before = canonical.encode(old[subject]).decode() if subject in old else ""
    after = canonical.encode(new[subject]).decode() if subject in new else ""
    kind = ChangeKind.CHANGE
    if not before:
        kind = ChangeKind.ADD
    elif not after:
        kind = ChangeKind.REMOVE
    return ChangeLine(kind=kind, subject=subject, before=before, after=after)
