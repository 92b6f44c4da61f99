"""The shares in force by service, and since when, as the suspicion guard reads them."""

from collections.abc import Callable, Mapping

from controlplane.engine.desired import published_shares
from controlplane.engine.publication import Publication


class SharesInForce:
    """Shares by service, and since when: read from the published snapshot once per revision."""

    def __init__(self, publication: Publication | None, now: Callable[[], float]) -> None:
        self._publication = publication
        self._now = now
        self._revision = 0
        self._shares: dict[str, dict[str, float]] = {}
        self._moved_s: dict[str, float] = {}

    def of(self, service: str) -> tuple[Mapping[str, float], float]:
        """Shares of a service, {} when none are published, and when they last changed."""
        self._read()
        return self._shares.get(service, {}), self._moved_s.get(service, 0.0)

    def all(self) -> Mapping[str, Mapping[str, float]]:
        """Every service's shares."""
        self._read()
        return self._shares

    def _read(self) -> None:
        current = None if self._publication is None else self._publication.current
        if current is not None and current.revision != self._revision:
            self._revision = current.revision
            shares = published_shares(current)
            moved = (name for name in shares if shares[name] != self._shares.get(name))
            self._moved_s.update(dict.fromkeys(moved, self._now()))
            self._shares = shares
