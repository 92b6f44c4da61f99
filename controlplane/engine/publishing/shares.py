"""The shares in force by service: as they are published, and since when.

The loop, gates of releases and of changes, and the suspicion guard read them.
"""

import math
from collections.abc import Callable, Collection, Mapping

from controlplane.domain.snapshot import Snapshot
from controlplane.domain.suspicion.past import InForce
from controlplane.domain.topology import EVERYWHERE, RegionShares
from controlplane.domain.units import BASIS_POINTS
from controlplane.engine.publishing.publication import Publication

# Earlier shares that are remembered: a hot service moves once in a cycle of five periods.
KEPT = 8


def published_shares(snapshot: Snapshot | None) -> dict[str, dict[str, float]]:
    """Service -> data centre -> share, as published; {} before the first snapshot.

    Where source regions have splits of their own, it is the mean over those: how much comes from
    each is not published.
    """
    shares: dict[str, dict[str, float]] = {}
    for service, regions in _published(snapshot).items():
        named = [split for region, split in regions.items() if region != EVERYWHERE]
        splits = named or list(regions.values())
        shares[service] = {
            center: math.fsum(split[center] for split in splits) / len(splits)
            for center in splits[0]
        }
    return shares


def published_regions(snapshot: Snapshot | None) -> dict[str, RegionShares]:
    """Service -> source region -> data centre -> share, where regions have splits of their own."""
    return {name: found for name, found in _published(snapshot).items() if len(found) > 1}


class SharesInForce:
    """Shares by service, and since when: read from the published snapshot once per revision."""

    def __init__(self, publication: Publication | None, now: Callable[[], float]) -> None:
        self._publication = publication
        self._now = now
        self._revision = 0
        self._shares: dict[str, dict[str, float]] = {}
        self._by_region: Collection[str] = ()
        self._moved_s: dict[str, float] = {}
        self._earlier: dict[str, tuple[InForce, ...]] = {}

    def of(self, service: str) -> tuple[Mapping[str, float], float]:
        """Shares of a service, and when they last changed.

        {} when none are published, or one split for each source region: how much comes from each
        is not published, so neither is what data centres bear.
        """
        self._read()
        shares = {} if service in self._by_region else self._shares.get(service, {})
        return shares, self._moved_s.get(service, 0.0)

    def earlier(self, service: str) -> tuple[InForce, ...]:
        """The last few shares before those, oldest first, as far as they were seen here."""
        self._read()
        return self._earlier.get(service, ())

    def all(self) -> Mapping[str, Mapping[str, float]]:
        """Every service's shares."""
        self._read()
        return self._shares

    def turn_back(self, now_s: float) -> None:
        """The clock was set back: nothing moved after now, and what was before is not known."""
        self._moved_s = {name: min(at_s, now_s) for name, at_s in self._moved_s.items()}
        self._earlier.clear()

    def _read(self) -> None:
        current = None if self._publication is None else self._publication.current
        if current is not None and current.revision != self._revision:
            self._revision = current.revision
            shares = published_shares(current)
            moved = [name for name in shares if shares[name] != self._shares.get(name)]
            for name in moved:
                self._keep(name)
            self._moved_s.update(dict.fromkeys(moved, self._now()))
            self._earlier = {name: self._earlier.get(name, ()) for name in shares}
            self._shares = shares
            self._by_region = published_regions(current).keys()

    def _keep(self, name: str) -> None:
        before = self._shares.get(name)
        if before is not None:
            split = InForce(since_s=self._moved_s[name], shares=before)
            self._earlier[name] = (*self._earlier.get(name, ()), split)[-KEPT:]


def _published(snapshot: Snapshot | None) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in () if snapshot is None else snapshot.content.weights.weights:
        split = {center: weight / BASIS_POINTS for center, weight in one.weights.items()}
        found.setdefault(one.service, {})[one.source_region] = split
    return found
